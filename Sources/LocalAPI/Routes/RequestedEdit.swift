internal import CRDTCore
internal import Engine
internal import NIOHTTP1
internal import PeerdKit

/// One edit of a transaction, as a client wrote it.
enum RequestedEdit: Sendable {
    case create(Creation)
    case set(String, [(name: String, value: Value)])
    case unset(String, [String])
    case move(String, Destination)
    case delete(String)

    struct Creation: Sendable {
        var type: String
        var kind: String
        var key: String?
        /// The name by which later edits of the transaction mean the object.
        var alias: String?
        var destination: Destination
        var properties: [(name: String, value: Value)]
    }

    /// How deep values may lie in the body of a request.
    static let valueDepth = 4

    /// A parent and a place among its children.
    struct Destination: Sendable {
        /// Nil for the root.
        var parent: String?
        var before: String?
        var isFirst: Bool

        /// The texts that name objects.
        var names: [String] { [self.parent, self.before].compactMap { $0 } }

        init(_ members: Members) throws(Problem) {
            self.parent = try members.text("parent")
            self.before = try members.text("before")
            self.isFirst = try members.flag("first")
            guard self.before == nil || !self.isFirst else {
                throw .badRequest("An object can be placed first or before another, and not both.")
            }
        }
    }

    /// Reads an edit of the form that API documents describe.
    init(_ json: JSON) throws(Problem) {
        let members = try Members(json, of: "An edit")
        let verbs = ["create", "set", "unset", "move", "delete"].filter(members.has)
        guard let verb = verbs.first, verbs.count == 1 else {
            throw .badRequest("An edit has one of “create”, “set”, “unset”, “move” and “delete”.")
        }
        let subject = try members.requiredText(verb)
        switch verb {
        case "create": self = .create(try Creation(type: subject, members))
        case "set": self = .set(subject, try Self.properties(members))
        case "unset": self = .unset(subject, try members.texts("names"))
        case "move": self = .move(subject, try Destination(members))
        default: self = .delete(subject)
        }
        try members.requireNoOthers()
    }

    static func properties(_ members: Members) throws(Problem) -> [(name: String, value: Value)] {
        try members.object("properties").map { property throws(Problem) in
            guard !property.value.isDeeper(than: JSON.depthMax) else {
                throw .invalid("The value of “\(property.name)” has more than \(JSON.depthMax) levels.")
            }
            return (property.name, Value(property.value))
        }
    }
}

extension RequestedEdit.Creation {
    init(type: String, _ members: Members) throws(Problem) {
        self.type = type
        self.kind = try members.text("kind") ?? ""
        self.key = try members.text("key")
        self.alias = try members.text("as")
        // Anything else might be the id of an object.
        guard self.alias?.hasPrefix("$") ?? true else { throw .badRequest("The name in “as” begins with “$”.") }
        self.destination = try RequestedEdit.Destination(members)
        self.properties = try RequestedEdit.properties(members)
    }
}

/// Edits that take effect together.
struct EditBatch: Sendable {
    var edits: [RequestedEdit]
    /// The versions that objects must have, by the texts that name them.
    var conditions: [(object: String, version: String)] = []

    init(_ edits: [RequestedEdit]) { self.edits = edits }

    /// Reads the members `edits` and `if`.
    init(_ members: Members) throws(Problem) {
        let edits = try members.array("edits")
        guard edits.count <= APILimits.editCountMax else {
            throw Problem(
                .payloadTooLarge,
                "too-large",
                "A transaction has at most \(APILimits.editCountMax) edits.",
                advice: "Divide it into several."
            )
        }
        self.edits = try edits.map { edit throws(Problem) in try RequestedEdit(edit) }
        self.conditions = try members.object("if").map { condition throws(Problem) in
            guard let version = condition.value.text else { throw .badRequest("The versions in “if” are texts.") }
            return (condition.name, version)
        }
    }

    /// The texts that name objects, aliases left out.
    private var names: Set<String> {
        var names = Set(self.conditions.map(\.object))
        for edit in self.edits {
            switch edit {
            case .create(let creation): names.formUnion(creation.destination.names)
            case .set(let object, _), .unset(let object, _), .delete(let object): names.insert(object)
            case .move(let object, let destination): names.formUnion([object] + destination.names)
            }
        }
        return names.filter { !$0.hasPrefix("$") }
    }

    /// Writes the transaction to a branch, or to the main timeline for nil; returns the objects that were created, in
    /// order, and which change holds the edits, once all is on the disk.
    func writeWithReceipt(
        to workspace: Workspace,
        on branch: BranchID?
    ) async throws -> (created: [ObjectID], receipt: WriteReceipt) {
        try await self.resolved(in: workspace, on: branch) { edits in
            let (created, receipt) = try await workspace.writeWithReceipt(on: branch) { try edits.perform(in: &$0) }
            return (created, receipt)
        }
    }

    /// Finds what the edits name, and hands them over to be written.
    func resolved<Result>(
        in workspace: Workspace,
        on branch: BranchID?,
        _ write: (ResolvedEdits) async throws -> Result
    ) async throws -> Result {
        let moment = branch.map { Moment.branch($0) }
        var ids: [String: ObjectID] = [:]
        for name in self.names { ids[name] = try await ObjectLookup.id(name, in: workspace, at: moment) }
        do {
            return try await write(ResolvedEdits(batch: self, ids: ids))
        } catch let error as PeerdError where error.code == .noSuchObject {
            // The one that is missing is looked for again, to say why.
            for name in self.names.sorted() { _ = try await ObjectLookup.object(name, in: workspace, at: moment) }
            throw error
        }
    }
}

/// Edits with the objects that their texts name.
struct ResolvedEdits: Sendable {
    let batch: EditBatch
    let ids: [String: ObjectID]

    /// Checks the conditions and makes the edits; returns the objects that were created, in order.
    func perform(in transaction: inout WriteTransaction) throws -> [ObjectID] {
        try self.check(in: &transaction)
        return try self.edit(in: &transaction)
    }

    /// Throws if an object does not have the version that it must have.
    func check(in transaction: inout WriteTransaction) throws {
        for condition in self.batch.conditions {
            guard let id = self.ids[condition.object] else { continue }
            let version = try transaction.committedObject(id)?.version
            guard version != condition.version else { continue }
            throw Problem.versionChanged(
                version.map { "You named version \(condition.version) of \(id); it is at \($0). Nothing was written." }
                    ?? "\(id) does not exist any more. Nothing was written."
            )
        }
    }

    private func edit(in transaction: inout WriteTransaction) throws -> [ObjectID] {
        var ids = self.ids
        var created: [ObjectID] = []
        func id(_ name: String) throws(Problem) -> ObjectID {
            guard let id = ids[name] else {
                throw .invalid("\(name) was not created before it in this transaction. Nothing was written.")
            }
            return id
        }
        for edit in self.batch.edits {
            switch edit {
            case .create(let creation):
                let parent = try creation.destination.parent.map(id)
                let object = try transaction.create(creation.type, kind: creation.kind, in: parent, key: creation.key)
                if creation.destination.isFirst || creation.destination.before != nil {
                    let place = try creation.destination.before.map { WriteTransaction.Place.before(try id($0)) }
                    try transaction.move(object, to: parent, at: place ?? .first)
                }
                for (name, value) in creation.properties {
                    try transaction.set(Property<Value>(name), to: value, on: object)
                }
                if let alias = creation.alias { ids[alias] = object }
                created.append(object)
            case .set(let object, let properties):
                let object = try id(object)
                for (name, value) in properties { try transaction.set(Property<Value>(name), to: value, on: object) }
            case .unset(let object, let names):
                let object = try id(object)
                for name in names { try transaction.unset(Property<Value>(name), on: object) }
            case .move(let object, let destination):
                guard try destination.before.map(id) != id(object) else {
                    throw Problem.invalid("\(try id(object)) cannot be placed before itself; name another sibling.")
                }
                let place = try destination.before.map { WriteTransaction.Place.before(try id($0)) }
                try transaction.move(
                    try id(object),
                    to: try destination.parent.map(id),
                    at: place ?? (destination.isFirst ? .first : .last)
                )
            case .delete(let object): try transaction.delete(try id(object))
            }
        }
        return created
    }
}
