package import CRDTCore
internal import PeerCrypto

/// Properties that are hidden from others who read their object: they are written in a circle beside that of the
/// object, which nobody else reads, or some people do.
extension LocalTransaction {
    /// Hides a property of an object that this user owns from everybody else.
    ///
    /// What others have of it they keep.
    /// - Throws: `WriteRefusal` if the object or the property does not show, or if the object is not this user's.
    package mutating func hide(_ name: String, of object: ObjectID) throws(WriteRefusal) {
        try self.planning { local throws(WriteRefusal) in
            let (circle, value) = try local.shown(name, of: object)
            guard circle == local.plan.base || circle.isOwned(by: local.plan.user) else {
                throw .notPermitted(.owner, object)
            }
            if try local.plan.circle(beside: object, holding: name, in: &local.state) != nil { return }
            try local.plan.append(.set(object, name: name, value: value), in: .hidden(by: local.plan.user))
            try local.plan.append(.unset(object, name: name), in: circle)
        }
    }

    /// Shows a property again to all who read its object.
    package mutating func unhide(_ name: String, of object: ObjectID) throws(WriteRefusal) {
        try self.planning { local throws(WriteRefusal) in
            let (circle, value) = try local.shown(name, of: object)
            let beside = try local.own(name, of: object)
            try local.plan.append(.set(object, name: name, value: value), in: circle)
            try local.plan.append(.unset(object, name: name), in: beside)
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
            var beside = try local.own(name, of: object)
            guard local.standingGrants(in: circle).contains(where: { $0.user == user }) else {
                throw .notReader(object)
            }
            if beside == .hidden(by: local.plan.user) {
                // Who is let in reads nothing else that is hidden, and nothing of what it was.
                let nonce = Bytes16(high: local.entropy.nextUInt64(), low: local.entropy.nextUInt64())
                let new = Circle.beside(owner: local.plan.user, nonce: nonce)
                try local.plan.append(.set(object, name: name, value: value), in: new)
                try local.plan.append(.unset(object, name: name), in: beside)
                beside = new
            }
            return try local.grant(user, role, nil, in: beside, about: object)
        }
    }

    /// Takes from somebody what he may do with a hidden property.
    package mutating func unshare(_ name: String, of object: ObjectID, with user: UserID) throws(WriteRefusal) {
        try self.planning { local throws(WriteRefusal) in
            let beside = try local.own(name, of: object)
            try local.remove(user, from: Set(Role.allCases), in: beside)
        }
    }

    /// The circle of an object that shows, and the value of a property of it.
    private mutating func shown(_ name: String, of object: ObjectID) throws(WriteRefusal) -> (Circle, Value) {
        guard try self.plan.isVisible(object, in: &self.state) else { throw .noSuchObject(object) }
        guard let value = try self.plan.properties(of: object, in: &self.state)[ExactText(name)] else {
            throw .noSuchProperty(name, object)
        }
        return (try self.plan.circle(of: object, in: &self.state), value)
    }

    /// The circle in which this user hides a property.
    private mutating func own(_ name: String, of object: ObjectID) throws(WriteRefusal) -> Circle {
        let beside = try self.plan.circle(beside: object, holding: name, in: &self.state)
        guard let beside, beside.isOwned(by: self.plan.user) else { throw .notHidden(name, object) }
        return beside
    }
}
