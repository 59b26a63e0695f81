/// The changes in a scope since a token, as states and not as operations.
///
/// To apply a delta, first remove the entries without a ``Entry/state``, then store the states of the others.
/// ``apply(to:)`` does this for a dictionary. After a delta without ``hasMore`` the result is exactly the scope at one
/// moment.
public struct Delta: Hashable, Sendable, Codable {
    /// An object that changed, entered the scope, or left it.
    public struct Entry: Identifiable, Hashable, Sendable, Codable {
        /// The id of the object.
        public let id: ObjectID
        /// The object as it is now; nil if it was deleted or left the scope, as ``leaving`` says.
        ///
        /// Remove an object without a state from an index. It may be an object that no element has mentioned before.
        public let state: Object?
        /// The reason why the object is in the scope no more; nil if it is there.
        public let leaving: Leaving?
        /// Tells whether everything below the object left the scope with it, because it was moved out of a subtree.
        ///
        /// Remove those objects from an index too; they have no entries of their own.
        public let includesBelow: Bool
        /// The names of the properties that were set or unset, or whose conflicts changed, in ascending order.
        public let changed: [String]
        /// Tells whether the object was created, or revived by a concurrent edit after its deletion.
        public let isCreated: Bool
        /// Tells whether the object has another parent than before.
        public let isMoved: Bool
    }

    /// The reasons why objects leave a scope.
    public enum Leaving: String, Hashable, Sendable, Codable {
        /// It was deleted, or moved by somebody to where this user does not read: that looks the same from here.
        case deleted
        /// It was moved, or changed, so that the scope does not include it any more.
        case moved
        /// It left this user's view: he has given up what somebody shared with him. Others have it as before.
        case givenUp = "given_up"
    }

    /// The sources of changes.
    public enum Origin: String, Hashable, Sendable, Codable {
        /// This machine wrote all of them.
        case local
        /// Other machines wrote all of them.
        case peer
        /// This machine wrote some, and others wrote the rest.
        case both
    }

    /// The entries: first the objects that left, then the others in the order in which they changed.
    public let objects: [Entry]
    /// Tells whether this is the first part of the whole state; forget everything from earlier elements.
    public let isReset: Bool
    /// Tells whether the next element belongs to the same moment; show the result only after an element without it.
    public let hasMore: Bool
    /// The authors of the changes, sorted by name; empty in parts of the whole state.
    public let authors: [Author]
    /// The token to continue with after this element; store it together with what was made of the element.
    public let token: ChangeToken

    /// The source of the changes; nil in parts of the whole state.
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
        self.leaving = nil
        self.includesBelow = false
        self.changed = changed
        self.isCreated = isCreated
        self.isMoved = isMoved
    }

    init(gone id: ObjectID, _ leaving: Delta.Leaving, includesBelow: Bool) {
        self.id = id
        self.state = nil
        self.leaving = leaving
        self.includesBelow = includesBelow
        self.changed = []
        self.isCreated = false
        self.isMoved = false
    }
}
