internal import Engine

/// Edits that become one change: all of them or none, on this machine and on all others.
///
/// What was done in a transaction shows in it. As soon as one call throws, nothing of it can be written any more, and
/// ``Workspace/write(_:)`` throws the same, whatever the closure makes of the error.
public struct WriteTransaction: ~Copyable {
    private var local: LocalTransaction

    init(_ local: consuming LocalTransaction) { self.local = local }

    consuming func finish() -> LocalTransaction { self.local }

    // MARK: - Edits

    /// Where an object goes among those beside it.
    public enum Place: Hashable, Sendable {
        /// Before all others.
        case first
        /// Behind all others.
        case last
        /// Directly before another.
        case before(ObjectID)
    }

    /// Makes an object, or finds the one that a key names.
    ///
    /// - Parameters:
    ///   - type: what it is.
    ///   - kind: a finer distinction, if wanted.
    ///   - parent: what it stands under, behind all that stands there; nil for the root.
    ///   - key: what the object means. Two machines that make the same type with the same key apart make one object. If
    ///     it is there already, it stays as it is; it goes under `parent` if it stands under another one. So a program
    ///     can make what it needs at each start, and writes nothing if it is there.
    /// - Returns: the id of the object.
    /// - Throws: ``PeerdError`` with `noSuchObject` for the parent, or `tooLarge`.
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

    /// Sets a property.
    ///
    /// - Throws: ``PeerdError`` with `noSuchObject` or `tooLarge`; what encoding a document throws.
    public mutating func set<Content>(_ property: Property<Content>, to content: Content, on object: ObjectID) throws {
        let step = Transaction.Step.set(object, name: property.name, value: try property.value(content))
        try self.translating { transaction throws(WriteRefusal) in try transaction.perform(step) }
    }

    /// Takes the value of a property away.
    public mutating func unset<Content>(_ property: Property<Content>, on object: ObjectID) throws {
        let step = Transaction.Step.unset(object, name: property.name)
        try self.translating { transaction throws(WriteRefusal) in try transaction.perform(step) }
    }

    /// Changes a document; members that `Content` does not know stay as they are.
    ///
    /// - Parameters:
    ///   - property: the property that holds the document.
    ///   - object: whose property it is.
    ///   - content: what to begin with if there is no document yet.
    ///   - change: changes the document.
    /// - Throws: ``PeerdError`` with `wrongType` if the property holds something else; what `change` throws.
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

    /// Puts an object under another, or at the root.
    ///
    /// - Throws: ``PeerdError`` with `noSuchObject`, `wouldCloseCycle`, or `notASibling`.
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

    /// Deletes an object and all that shows below it.
    ///
    /// What another machine writes there without having seen this keeps the object, with what it wrote.
    public mutating func delete(_ object: ObjectID) throws {
        try self.translating { transaction throws(WriteRefusal) in try transaction.perform(.delete(object)) }
    }

    // MARK: - Reading

    /// Whether an object is there.
    public mutating func contains(_ object: ObjectID) throws -> Bool {
        try self.translating { transaction throws(WriteRefusal) in try transaction.isVisible(object) }
    }

    /// The value of a property; nil if the object, or the property, is not there.
    ///
    /// - Throws: ``PeerdError`` with `wrongType` if the value is of another type.
    public mutating func value<Content>(of property: Property<Content>, on object: ObjectID) throws -> Content? {
        let name = ExactText(property.name)
        let value = try self.translating { transaction throws(WriteRefusal) in
            try transaction.isVisible(object) ? transaction.properties(of: object)[name] : nil
        }
        return try value.map { try property.content(of: $0) }
    }

    /// What stands under an object, or at the root, in order.
    ///
    /// - Complexity: O(*n*) in what stands there.
    public mutating func children(of parent: ObjectID?) throws -> [ObjectID] {
        try self.translating { transaction throws(WriteRefusal) in try transaction.children(of: parent) }
    }

    /// What an object stands under; nil at the root.
    public mutating func parent(of object: ObjectID) throws -> ObjectID? {
        try self.translating { transaction throws(WriteRefusal) in try transaction.parent(of: object) }
    }

    /// Runs a reader on the state without this transaction's edits.
    mutating func readingCommitted<Result>(
        _ body: (inout any StoreTransaction) throws(StoreError) -> Result
    ) throws -> Result {
        try self.translating { transaction throws(WriteRefusal) in try transaction.readCommitted(body) }
    }

    private mutating func translating<Result>(
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
    /// This document, with the members that an older one had and that whoever wrote this one did not know.
    ///
    /// `known`: the older one as it was understood.
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
