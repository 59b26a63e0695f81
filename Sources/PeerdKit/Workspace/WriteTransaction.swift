internal import Engine

/// A group of edits that take effect together, on this machine and on all others.
///
/// The reading functions see the edits of the transaction. As soon as one edit is refused, the transaction cannot be
/// written any more: ``Workspace/write(_:)`` throws the same error, even if the closure catches it.
///
/// A transaction holds at most 65,535 operations and about 6 MiB. Divide larger work into several transactions.
public struct WriteTransaction: ~Copyable {
    private var local: LocalTransaction

    init(_ local: consuming LocalTransaction) { self.local = local }

    consuming func finish() -> LocalTransaction { self.local }

    // MARK: - Edits

    /// The place of an object among its siblings.
    public enum Place: Hashable, Sendable {
        /// The place before all siblings.
        case first
        /// The place behind all siblings.
        case last
        /// The place directly before this sibling.
        case before(ObjectID)
    }

    /// Creates an object, or finds the one that a key names.
    ///
    /// With a key the id is derived from the user, the type and the key. Two machines of one user that create it apart
    /// create one object, and nobody else can take it over; two users create two. If the object exists already, it
    /// stays as it is, except that it moves under `parent` if that is another one. So a program can create what it
    /// needs at each start, and writes nothing if it is there. If the object was deleted, it exists again, without its
    /// old properties.
    ///
    /// - Parameters:
    ///   - type: the type of the object, in the words of the application; at most 512 bytes.
    ///   - kind: a finer distinction within the type; at most 512 bytes.
    ///   - parent: the object to put it under, behind the present children; nil for the root.
    ///   - key: a text that names the object within its type; nil for an object of its own.
    /// - Returns: the id of the object.
    /// - Throws: ``PeerdError`` with `noSuchObject` for the parent, `wouldCloseCycle` if the parent is below the object
    ///   that the key names, or `tooLarge`.
    @discardableResult
    public mutating func create(
        _ type: String,
        kind: String = "",
        in parent: ObjectID? = nil,
        key: String? = nil
    ) throws -> ObjectID {
        let identity: Transaction.Identity = key.map { .key($0) } ?? .random
        let creation = Transaction.Creation(id: identity, type: type, kind: kind, parent: parent)
        return try self.translating { transaction throws(WriteRefusal) in try transaction.create(creation) }
    }

    /// Sets a property of an object.
    ///
    /// - Parameters:
    ///   - property: the property to set.
    ///   - content: the new value; at most 1 MiB when encoded.
    ///   - object: the object to change.
    /// - Throws: ``PeerdError`` with `noSuchObject` or `tooLarge`; the error of encoding a document.
    public mutating func set<Content>(_ property: Property<Content>, to content: Content, on object: ObjectID) throws {
        let step = Transaction.Step.set(object, name: property.name, value: try property.value(content))
        try self.translating { transaction throws(WriteRefusal) in try transaction.perform(step) }
    }

    /// Removes a property from an object.
    ///
    /// - Throws: ``PeerdError`` with `noSuchObject` or `tooLarge`.
    public mutating func unset<Content>(_ property: Property<Content>, on object: ObjectID) throws {
        let step = Transaction.Step.unset(object, name: property.name)
        try self.translating { transaction throws(WriteRefusal) in try transaction.perform(step) }
    }

    /// Changes the document that a property holds.
    ///
    /// Members of the stored document that `Content` does not know stay as they are. So an old version of an
    /// application does not remove what a newer one has written.
    ///
    /// - Parameters:
    ///   - property: the property that holds the document.
    ///   - object: the object to change.
    ///   - content: the document to start with if the property is not set.
    ///   - change: changes the document.
    /// - Throws: ``PeerdError`` with `wrongType` if the property holds something else, `noSuchObject` or `tooLarge`;
    ///   the error of `change`.
    /// - Complexity: O(*n*) in the bytes of the document.
    public mutating func update<Content: Codable>(
        _ property: Property<Content>,
        on object: ObjectID,
        default content: @autoclosure () -> Content,
        _ change: (inout Content) throws -> Void
    ) throws {
        let name = ExactText(property.name)
        let old = try self.translating { transaction throws(WriteRefusal) in
            try transaction.properties(of: object)[name]
        }
        var document = try old.map { try property.content(of: $0) } ?? content()
        let known = try old == nil ? nil : property.value(document)
        try change(&document)
        let new = try property.value(document)
        let merged = known.flatMap { known in old.map { new.keepingUnknownMembers(of: $0, known: known) } } ?? new
        let step = Transaction.Step.set(object, name: property.name, value: merged)
        try self.translating { transaction throws(WriteRefusal) in try transaction.perform(step) }
    }

    /// Moves an object, with all that is below it, under another parent or to another place among its siblings.
    ///
    /// - Parameters:
    ///   - object: the object to move.
    ///   - parent: the new parent, which may be the present one; nil for the root.
    ///   - place: the place among the children of the parent.
    /// - Throws: ``PeerdError`` with `noSuchObject`; `wouldCloseCycle` if the parent is the object or below it;
    ///   `notASibling` if `place` names no child of the parent.
    public mutating func move(_ object: ObjectID, to parent: ObjectID?, at place: Place = .last) throws {
        try self.translating { transaction throws(WriteRefusal) in
            let sibling: ObjectID? =
                switch place {
                case .first: try transaction.children(of: parent).first { $0 != object }
                case .last: nil
                case .before(let sibling): sibling
                }
            try transaction.perform(.move(object, parent: parent, before: sibling))
        }
    }

    /// Deletes an object and all objects below it.
    ///
    /// A concurrent edit wins: an object that another machine edits before it hears of the deletion stays, with the
    /// edit and with its ancestors.
    ///
    /// - Throws: ``PeerdError`` with `noSuchObject`, or `tooLarge` if there are more objects than a transaction can
    ///   delete.
    /// - Complexity: O(*n*) in the objects below it.
    public mutating func delete(_ object: ObjectID) throws {
        try self.translating { transaction throws(WriteRefusal) in try transaction.perform(.delete(object)) }
    }

    // MARK: - Reading

    /// Tells whether an object exists.
    ///
    /// - Throws: ``PeerdError`` if the disk fails or the database is damaged.
    public mutating func contains(_ object: ObjectID) throws -> Bool {
        try self.translating { transaction throws(WriteRefusal) in try transaction.isVisible(object) }
    }

    /// Returns the value of a property; nil if the object or the property does not exist.
    ///
    /// - Throws: ``PeerdError`` with `wrongType` if the value has another type, or if the disk fails.
    /// - Complexity: O(*n*) in the properties of the object.
    public mutating func value<Content>(of property: Property<Content>, on object: ObjectID) throws -> Content? {
        let name = ExactText(property.name)
        let value = try self.translating { transaction throws(WriteRefusal) in
            try transaction.isVisible(object) ? transaction.properties(of: object)[name] : nil
        }
        return try value.map { try property.content(of: $0) }
    }

    /// Returns the children of an object, or the objects at the root for nil, in order.
    ///
    /// - Throws: ``PeerdError`` if the disk fails or the database is damaged.
    /// - Complexity: O(*n*) in the children.
    public mutating func children(of parent: ObjectID?) throws -> [ObjectID] {
        try self.translating { transaction throws(WriteRefusal) in try transaction.children(of: parent) }
    }

    /// Returns the parent of an object; nil at the root.
    ///
    /// - Throws: ``PeerdError`` if the disk fails or the database is damaged.
    public mutating func parent(of object: ObjectID) throws -> ObjectID? {
        try self.translating { transaction throws(WriteRefusal) in try transaction.parent(of: object) }
    }

    /// Returns an object as it is without this transaction's edits; nil if it does not exist or is deleted.
    package mutating func committedObject(_ id: ObjectID) throws -> Object? {
        try self.translating { transaction throws(WriteRefusal) in
            try transaction.readState { state throws(StoreError) in try Object.find(id, in: &state) }
        }
    }

    /// Runs a reader on the state without this transaction's edits.
    mutating func readingCommitted<Result>(
        _ body: (inout any StoreTransaction) throws(StoreError) -> Result
    ) throws -> Result {
        try self.translating { transaction throws(WriteRefusal) in try transaction.readCommitted(body) }
    }

    /// Runs a reader that may throw anything on all that is stored.
    mutating func readingStore<Result>(
        _ body: (inout any StoreTransaction) throws -> Result
    ) throws -> Result {
        var failure: (any Error)?
        let result = try self.readingCommitted { store throws(StoreError) -> Result? in
            do {
                return try body(&store)
            } catch let error as StoreError {
                throw error
            } catch {
                failure = error
                return nil
            }
        }
        guard let result else { throw failure ?? PeerdError(WriteRefusal.abandoned) }
        return result
    }

    mutating func translating<Result>(
        _ body: (inout LocalTransaction) throws(WriteRefusal) -> Result
    ) throws -> Result {
        do throws(WriteRefusal) {
            return try body(&self.local)
        } catch {
            throw PeerdError(error)
        }
    }
}

extension Value {
    /// Returns this document with the members of an older one that the program did not know.
    ///
    /// `known`: the older one as the program understood it.
    fileprivate func keepingUnknownMembers(of old: Value, known: Value) -> Value {
        Value(Value.merged(self.json, old: old.json, known: known.json))
    }

    private static func merged(_ new: JSON, old: JSON, known: JSON) -> JSON {
        guard case .object(var members) = new, case .object(let oldMembers) = old,
            case .object(let knownMembers) = known
        else { return new }
        for (name, value) in oldMembers {
            if let understood = knownMembers[name] {
                if let member = members[name] { members[name] = self.merged(member, old: value, known: understood) }
            } else if members[name] == nil {
                members[name] = value
            }
        }
        return .object(members)
    }
}
