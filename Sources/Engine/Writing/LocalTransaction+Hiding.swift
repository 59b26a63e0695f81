package import CRDTCore
internal import PeerCrypto

/// Properties that are hidden from others who read their object: they are written in a circle beside that of the
/// object, which nobody else reads, or some people do.
extension LocalTransaction {
    /// Hides a property of an object that this user owns from everybody else, whether it has a value or not.
    ///
    /// What others have of it they keep. If it is hidden already, what was written meanwhile where others read it is
    /// taken from there.
    /// - Throws: `WriteRefusal` if the object does not show, or is not this user's.
    package mutating func hide(_ name: String, of object: ObjectID) throws(WriteRefusal) {
        try self.planning { local throws(WriteRefusal) in
            try local.plan.check(name, what: "a property name")
            let (circle, value) = try local.shown(name, of: object)
            guard circle == local.plan.base || circle.isOwned(by: local.plan.user) else {
                throw .notPermitted(.owner, object)
            }
            let besides = try local.plan.circles(beside: object, holding: name, in: &local.state)
            if besides.isEmpty {
                let hidden = Circle.hidden(by: local.plan.user)
                try local.plan.append(.set(object, name: name, value: value ?? .null), in: hidden)
            }
            guard try local.plan.value(of: name, inCircleOf: object, in: &local.state) != nil else { return }
            try local.plan.append(.unset(object, name: name), in: circle)
        }
    }

    /// Shows a property again to all who read its object.
    package mutating func unhide(_ name: String, of object: ObjectID) throws(WriteRefusal) {
        try self.planning { local throws(WriteRefusal) in
            let (circle, value) = try local.shown(name, of: object)
            let besides = try local.own(name, of: object)
            if let value { try local.plan.append(.set(object, name: name, value: value), in: circle) }
            for beside in besides { try local.plan.append(.unset(object, name: name), in: beside) }
        }
    }

    /// Lets somebody who reads an object read a hidden property of it, too, or also write it.
    ///
    /// - Returns: whether a role was taken that is to be given again, for less, in a further transaction.
    /// - Throws: `WriteRefusal` if this user does not hide the property, or the other one does not read the object.
    package mutating func share(
        _ name: String,
        of object: ObjectID,
        with user: UserID,
        as role: Role
    ) throws(WriteRefusal) -> Bool {
        try self.planning { local throws(WriteRefusal) in
            let (circle, value) = try local.shown(name, of: object)
            let besides = try local.own(name, of: object)
            guard var beside = besides.first else { throw .notHidden(name, object) }
            guard local.standingGrants(in: circle).contains(where: { $0.user == user }) else {
                throw .notReader(object)
            }
            if beside == .hidden(by: local.plan.user) {
                // Who is let in reads nothing else that is hidden, and nothing of what it was.
                let nonce = Bytes16(high: local.entropy.nextUInt64(), low: local.entropy.nextUInt64())
                let new = Circle.beside(owner: local.plan.user, nonce: nonce)
                try local.plan.append(.set(object, name: name, value: value ?? .null), in: new)
                try local.plan.append(.unset(object, name: name), in: beside)
                beside = new
            }
            for other in besides.dropFirst() { try local.plan.append(.unset(object, name: name), in: other) }
            return try local.grant(user, role, nil, in: beside, about: object)
        }
    }

    /// Takes from somebody what he may do with a hidden property.
    package mutating func unshare(_ name: String, of object: ObjectID, with user: UserID) throws(WriteRefusal) {
        try self.planning { local throws(WriteRefusal) in
            for beside in try local.own(name, of: object)
            where local.standingGrants(in: beside).contains(where: { $0.user == user }) {
                try local.remove(user, from: Set(Role.allCases), in: beside)
            }
        }
    }

    /// Takes from somebody what is hidden on objects of a circle and shared with him: by this user, or, from himself,
    /// by anybody.
    mutating func unshareHidden(in circle: Circle, with user: UserID) throws(WriteRefusal) {
        guard self.store.circles.hasBeside else { return }
        let own = self.plan.user
        let besides = (0..<UInt32(self.store.circles.count)).map { CircleIndex(rawValue: $0) }.filter { index in
            let beside = self.store.circles[index]
            return beside.isBeside && (beside.isOwned(by: own) || user == own)
                && self.standingGrants(in: beside).contains { $0.user == user }
        }
        guard !besides.isEmpty else { return }
        let concerned = try WriteRefusal.from { () throws(StoreError) -> Set<CircleIndex> in
            var concerned: Set<CircleIndex> = []
            for object in try self.store.objectsOutsideOfHome() {
                let record = try self.store.object(object)
                guard besides.contains(record.circle),
                    let shown = try self.store.existingObjectIndex(of: record.id),
                    try self.store.circles[self.store.object(shown).circle] == circle
                else { continue }
                concerned.insert(record.circle)
            }
            return concerned
        }
        for index in concerned.sorted() {
            try self.remove(user, from: Set(Role.allCases), in: self.store.circles[index])
        }
    }

    /// The circle of an object that shows, and the value of a property of it; nil if it has none.
    private mutating func shown(_ name: String, of object: ObjectID) throws(WriteRefusal) -> (Circle, Value?) {
        guard try self.plan.isVisible(object, in: &self.state) else { throw .noSuchObject(object) }
        let value = try self.plan.properties(of: object, in: &self.state)[ExactText(name)]
        return (try self.plan.circle(of: object, in: &self.state), value)
    }

    /// The circles in which this user hides a property, the one that shows first.
    private mutating func own(_ name: String, of object: ObjectID) throws(WriteRefusal) -> [Circle] {
        let besides = try self.plan.circles(beside: object, holding: name, in: &self.state)
            .filter { $0.isOwned(by: self.plan.user) }
        guard !besides.isEmpty else { throw .notHidden(name, object) }
        return besides
    }
}
