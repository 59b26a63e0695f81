/// What has changed in a scope since a token: states, and not what led to them.
///
/// Whoever applies each delta has, after one without ``hasMore``, exactly what the workspace had at one moment: first
/// what has left is forgotten, then the states are taken in. ``apply(to:)`` does that for a dictionary.
public struct Delta: Hashable, Sendable, Codable {
    /// An object that has changed, has come into the scope, or has left it.
    public struct Entry: Identifiable, Hashable, Sendable, Codable {
        /// Names it on all machines.
        public let id: ObjectID
        /// The object as it is now; nil if it was deleted or is not in the scope.
        ///
        /// Then it is to be forgotten. It may be one that was never told of.
        public let state: Object?
        /// Whether what stands below it has left with it, and is to be forgotten, too: it was moved out of a subtree.
        public let includesBelow: Bool
        /// Names of properties that were set or unset, in ascending order, or whose conflicts changed.
        public let changed: [String]
        /// Whether it was created, or came to life again.
        public let isCreated: Bool
        /// Whether it stands under another parent than before.
        public let isMoved: Bool
    }

    /// Where changes come from.
    public enum Origin: String, Hashable, Sendable, Codable {
        /// All were written on this machine.
        case local
        /// All came from others.
        case peer
        /// There are some of either kind.
        case both
    }

    /// Those that have left first, and the others in the order in which they were changed.
    public let objects: [Entry]
    /// Whether everything that was known before is to be forgotten: this is the first part of the whole state.
    public let isReset: Bool
    /// Whether the next element belongs to the same moment.
    public let hasMore: Bool
    /// Who wrote what has changed, in the order of their names; empty in parts of the whole state.
    public let authors: [Author]
    /// Where the next element begins.
    public let token: ChangeToken

    /// Where the changes come from; nil in parts of the whole state.
    public var origin: Origin? {
        guard let first = self.authors.first else { return nil }
        if self.authors.contains(where: { $0.isThisMachine != first.isThisMachine }) { return .both }
        return first.isThisMachine ? .local : .peer
    }
}

extension Delta {
    /// Brings a dictionary of the scope's objects up to date.
    ///
    /// - Complexity: O(*n*) for *n* entries; where something was moved out of a subtree, O(*n* + *m*) for the *m*
    ///   objects of the dictionary.
    public func apply(to objects: inout [ObjectID: Object]) {
        if self.isReset { objects = [:] }
        var children: [ObjectID?: [ObjectID]] = [:]
        if self.objects.contains(where: \.includesBelow) {
            children = Dictionary(grouping: objects.values, by: \.parent).mapValues { $0.map(\.id) }
        }
        for entry in self.objects where entry.state == nil {
            var open = [entry.id]
            while let id = open.popLast() {
                objects[id] = nil
                // Taken out, so that each is passed once even if the dictionary goes round in a circle.
                if entry.includesBelow { open += children.removeValue(forKey: id) ?? [] }
            }
        }
        for entry in self.objects { if let state = entry.state { objects[entry.id] = state } }
    }
}

extension Delta.Entry {
    init(_ state: Object, changed: [String] = [], isCreated: Bool = false, isMoved: Bool = false) {
        self.id = state.id
        self.state = state
        self.includesBelow = false
        self.changed = changed
        self.isCreated = isCreated
        self.isMoved = isMoved
    }

    init(gone id: ObjectID, includesBelow: Bool) {
        self.id = id
        self.state = nil
        self.includesBelow = includesBelow
        self.changed = []
        self.isCreated = false
        self.isMoved = false
    }
}
