/// Stands for a circle in one store.
package struct CircleIndex: RawRepresentable, Hashable, Comparable, Sendable {
    package var rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Home has the same number in every store.
    package static let home = CircleIndex(rawValue: 0)

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The circles that the chains of a store belong to, numbered in the order in which the first chain of each came.
///
/// A circle is merged as if it were alone: its changes name, and its operations touch, what is in it and nothing else.
package struct CircleTable: Sendable {
    private var circles: [Circle] = [.home]
    private var numbers: [Circle: CircleIndex] = [:]
    /// The user whose store it is, if he does not own the workspace; nil for its owner.
    package var guest: UserID?

    package init() {}

    /// The circle where its user puts what is at the root, and places what others share with him: home, or his own one
    /// if he is a guest.
    package var base: CircleIndex { self.guest.flatMap { self.index(of: .own(of: $0)) } ?? .home }

    package var count: Int { self.circles.count }

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
        return index
    }

    /// Forgets all but the first circles.
    package mutating func truncate(to count: Int) {
        while self.circles.count > count { self.numbers[self.circles.removeLast()] = nil }
    }
}

/// Names an object: an id stands for one object in each circle.
package struct CircledObjectID: Hashable, Sendable {
    package var circle: CircleIndex
    package var id: ObjectID

    package init(_ id: ObjectID, in circle: CircleIndex) { (self.id, self.circle) = (id, circle) }
}
