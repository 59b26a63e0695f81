/// Stands for a circle in one store.
package struct CircleIndex: RawRepresentable, Hashable, Comparable, Sendable {
    package var rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Home has the same number in every store.
    package static let home = CircleIndex(rawValue: 0)

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Whose store something is.
package struct CircleReader: Hashable, Sendable {
    package var user: UserID
    /// Who owns the workspace.
    package var founder: UserID

    package init(user: UserID, founder: UserID) { (self.user, self.founder) = (user, founder) }
}

/// The circles that the chains of a store belong to, numbered in the order in which the first chain of each came.
///
/// A circle is merged as if it were alone: its changes name, and its operations touch, what is in it and nothing else.
package struct CircleTable: Sendable {
    private var circles: [Circle] = [.home]
    private var numbers: [Circle: CircleIndex] = [:]
    /// Whose store it is; nil if nobody has said so.
    package var reader: CircleReader?
    /// Those that the user of the store is sent nothing of any more, by the word of the owners' machines, or because he
    /// has left them.
    ///
    /// What lies there beside others shows in the place of nothing, and no undo takes anything back.
    package var closed: Set<CircleIndex> = []
    /// Whether any of them lies beside others.
    package private(set) var hasBeside = false

    package init() {}

    /// The circle where its user puts what is at the root, and places what others share with him: home, or his own one
    /// if he does not own the workspace.
    package var base: CircleIndex {
        guard let reader, reader.user != reader.founder else { return .home }
        return self.index(of: .own(of: reader.user)) ?? .home
    }

    package var count: Int { self.circles.count }

    /// Whether values in a circle show in the place of those in another one: its user owns that, or reads here.
    ///
    /// So nobody changes by it what others see of what is not his.
    func shows(_ beside: CircleIndex, inPlaceOf circle: CircleIndex) -> Bool {
        guard case .beside(let owner, _) = self[beside], !self[circle].isBeside, !self.closed.contains(beside)
        else { return false }
        return owner == self.reader?.user || self.isOwned(circle, by: owner)
    }

    /// Whether a user may do everything in a circle.
    func isOwned(_ circle: CircleIndex, by user: UserID) -> Bool {
        self[circle].isOwned(by: user) || circle == .home && self.reader?.founder == user
    }

    package subscript(index: CircleIndex) -> Circle { self.circles[Int(index.rawValue)] }

    /// Whether a circle's canonical bytes come before those of another; home comes first.
    func precedes(_ left: CircleIndex, _ right: CircleIndex) -> Bool {
        let bytes = [left, right].map { index in
            var bytes: [UInt8] = []
            self[index].encode(to: &bytes)
            return bytes
        }
        return bytes[0].lexicographicallyPrecedes(bytes[1])
    }

    /// The number of a circle; nil if nothing of it is here.
    package func index(of circle: Circle) -> CircleIndex? { circle == .home ? .home : self.numbers[circle] }

    /// The number of the circle that a chain belongs to, which is a new one if it is the first chain there.
    package mutating func take(_ introduction: Introduction?) -> CircleIndex {
        guard let circle = introduction?.circle, circle != .home else { return .home }
        if let index = self.numbers[circle] { return index }
        let index = CircleIndex(rawValue: UInt32(self.circles.count))
        self.circles.append(circle)
        self.numbers[circle] = index
        if circle.isBeside { self.hasBeside = true }
        return index
    }

    /// Forgets all but the first circles.
    package mutating func truncate(to count: Int) {
        while self.circles.count > count { self.numbers[self.circles.removeLast()] = nil }
        self.hasBeside = self.circles.contains(where: \.isBeside)
    }
}

/// Names an object: an id stands for one object in each circle.
package struct CircledObjectID: Hashable, Sendable {
    package var circle: CircleIndex
    package var id: ObjectID

    package init(_ id: ObjectID, in circle: CircleIndex) { (self.id, self.circle) = (id, circle) }
}
