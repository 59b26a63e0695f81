internal import CRDTCore

/// The objects of a file to import, and in which order to make them.
///
/// Parents come before their children, and siblings in the order of their positions, so that each can be put at the
/// end.
struct ImportFile {
    /// Objects to make, parents first.
    private(set) var objects: [ImportedObject] = []

    /// Also the help text of `import`.
    static let formatHelp = """
        FILE.json is what "peerd export" wrote, or any JSON array of objects with these members:
          type         what the object is; needed for new objects
          kind         a finer distinction, if wanted
          id           a UUID that the object is to have; or
          key          text from which, with the type, the id is derived: importing it again, here or on another \
        machine, meets the same object. With neither, the id is random
          parent       id of the object it belongs under: of this file, or of the workspace; or
          parent_key   key of that object, with parent_type where several types have this key. With neither, the \
        object stands at the root
          position     where it stands among its siblings, compared as text; with none, in the order of the file
          properties   {name: value}
        The other members of an export are not taken over: the import is a new edit by this machine. Objects that are \
        there already get the file's properties and place.
        """

    private struct Element {
        var number: Int
        var members: [ExactText: JSON]
        var reference: ImportedObject.Reference
        var parent: ImportedObject.Reference?
        var position: String
        var type: String
    }

    /// Values lie so much deeper in an export than they may by themselves.
    private static let depthAroundValues = 3

    private static let knownMembers: Set<String> = [
        "type", "kind", "id", "key", "parent", "parent_key", "parent_type", "position", "properties", "created_at",
        "updated_at", "creator", "owner",
    ]

    /// Reads the text of a file.
    ///
    /// `randomID` makes an id for an object that has neither id nor key.
    init(parsing text: some Sequence<UInt8>, randomID: () -> ObjectID) throws {
        let bytes = Array(text)
        let elements: [JSON]
        switch JSON.parse(bytes, depthMax: JSON.depthMax + Self.depthAroundValues) {
        case .success(.array(let found)): elements = found
        case .success:
            throw CommandFailure(
                .failure,
                "The file is not a JSON array of objects; \"peerd help import\" has the form."
            )
        case .failure(let failure):
            let line = bytes.prefix(failure.offset).count { $0 == UInt8(ascii: "\n") } + 1
            throw CommandFailure(
                .failure,
                "The file is not JSON from line \(line), byte \(failure.offset) on, or a number there is too large; "
                    + "nothing was imported."
            )
        }
        var parsed: [Element] = []
        parsed.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            parsed.append(try Self.element(element, number: index + 1, randomID: randomID))
        }
        try Self.resolveParentKeys(&parsed)
        try self.arrange(parsed)
    }

    // MARK: - Reading

    private static func element(_ json: JSON, number: Int, randomID: () -> ObjectID) throws -> Element {
        guard case .object(let members) = json else { throw self.failure(number, "is not a JSON object") }
        if let unknown = members.keys.map(\.text).filter({ !self.knownMembers.contains($0) }).min() {
            throw self.failure(number, "has a member \"\(PlainText.printable(unknown))\", which means nothing here")
        }
        func text(_ name: String) throws -> String? {
            switch members[ExactText(name)] {
            case nil, .null?: return nil
            case .string(let text)?: return text
            default: throw self.failure(number, "has a \"\(name)\" that is not text")
            }
        }
        func identifier(_ name: String) throws -> ObjectID? {
            guard let text = try text(name) else { return nil }
            guard let id = ObjectID(text: text) else {
                throw self.failure(number, "has a \"\(name)\" that is not a UUID")
            }
            return id
        }
        let type = try text("type") ?? ""
        let reference: ImportedObject.Reference
        if let id = try identifier("id") {
            reference = .id(id.description)
        } else if let key = try text("key") {
            reference = .key(type: ExactText(type), key: ExactText(key))
        } else {
            reference = .id(randomID().description)
        }
        if members["id"] == nil, type.isEmpty { throw self.failure(number, "has no \"type\"") }
        var parent = try identifier("parent").map { ImportedObject.Reference.id($0.description) }
        if let key = try text("parent_key") {
            parent = .key(type: ExactText(try text("parent_type") ?? ""), key: ExactText(key))
        }
        _ = try text("kind")
        return Element(
            number: number,
            members: members,
            reference: reference,
            parent: parent,
            position: try text("position") ?? "",
            type: type
        )
    }

    /// Finds out of which type the object is that a `parent_key` without `parent_type` means.
    private static func resolveParentKeys(_ elements: inout [Element]) throws {
        var typesByKey: [ExactText: Set<ExactText>] = [:]
        for element in elements {
            if case .key(let type, let key) = element.reference { typesByKey[key, default: []].insert(type) }
        }
        for index in elements.indices {
            guard case .key(let type, let key)? = elements[index].parent, type.text.isEmpty else { continue }
            let types = typesByKey[key] ?? []
            guard types.count <= 1 || types.contains(ExactText(elements[index].type)) else {
                throw self.failure(elements[index].number, "needs a \"parent_type\": several types have that key")
            }
            // One that is not in the file is taken for one of the same type that is in the workspace.
            let meant = types.count == 1 ? types.first : nil
            elements[index].parent = .key(type: meant ?? ExactText(elements[index].type), key: key)
        }
    }

    // MARK: - Order

    private mutating func arrange(_ elements: [Element]) throws {
        var places: [ImportedObject.Reference: Int] = [:]
        for (index, element) in elements.enumerated() {
            guard places.updateValue(index, forKey: element.reference) == nil else {
                throw Self.failure(element.number, "has the same id or key as one before it")
            }
        }
        var children: [Int: [Int]] = [:]
        var level: [Int] = []
        for (index, element) in elements.enumerated() {
            if let parent = element.parent.flatMap({ places[$0] }) {
                children[parent, default: []].append(index)
            } else {
                level.append(index)
            }
        }
        func inOrder(_ siblings: [Int]) -> [Int] {
            siblings.sorted { left, right in
                let (first, second) = (elements[left].position.utf8, elements[right].position.utf8)
                if first.elementsEqual(second) { return left < right }
                return first.lexicographicallyPrecedes(second)
            }
        }
        level = inOrder(level)
        while !level.isEmpty {
            var next: [Int] = []
            for index in level {
                self.objects.append(try Self.object(elements[index]))
                next += inOrder(children[index] ?? [])
            }
            level = next
        }
        guard self.objects.count == elements.count else {
            throw CommandFailure(.failure, "Some objects of the file stand below themselves; correct their parents.")
        }
    }

    private static func object(_ element: Element) throws -> ImportedObject {
        var properties: [ExactText: String] = [:]
        switch element.members["properties"] {
        case nil, .null?: break
        case .object(let members)?: properties = members.mapValues(\.canonicalText)
        default: throw self.failure(element.number, "has \"properties\" that are not a JSON object")
        }
        var kind = ""
        if case .string(let text)? = element.members["kind"] { kind = text }
        return ImportedObject(
            reference: element.reference,
            type: element.type,
            kind: kind,
            parent: element.parent,
            isPlacedAtRoot: element.parent == nil && element.members["parent"] == .null,
            properties: properties
        )
    }

    private static func failure(_ number: Int, _ what: String) -> CommandFailure {
        CommandFailure(.failure, "Object \(number) of the file \(what); nothing was imported.")
    }
}

extension ImportFile {
    static let batchObjectCountMax = 512
    /// Well below what one change can hold.
    private static let batchOperationCountMax = 4096
    private static let batchByteCountMax = 64 << 10

    /// The objects in batches that each fit into one transaction.
    var batches: [[ImportedObject]] {
        var batches: [[ImportedObject]] = []
        var batch: [ImportedObject] = []
        var operationCount = 0
        var byteCount = 0
        for object in self.objects.lazy.flatMap({ $0.pieces(byteCountMax: Self.batchByteCountMax) }) {
            let operations = object.properties.count + 2
            if !batch.isEmpty,
                batch.count >= Self.batchObjectCountMax || operationCount + operations > Self.batchOperationCountMax
                    || byteCount + object.byteCount > Self.batchByteCountMax || object.isContinuation
            {
                batches.append(batch)
                (batch, operationCount, byteCount) = ([], 0, 0)
            }
            batch.append(object)
            operationCount += operations
            byteCount += object.byteCount
        }
        if !batch.isEmpty { batches.append(batch) }
        return batches
    }
}

extension ImportedObject {
    fileprivate var byteCount: Int {
        self.properties.reduce(0) { $0 + $1.key.text.utf8.count + $1.value.utf8.count }
    }

    /// The object in parts, each with some of its properties: it may have come to hold more than one transaction can.
    fileprivate func pieces(byteCountMax: Int) -> [ImportedObject] {
        var pieces: [ImportedObject] = []
        var piece = self
        piece.properties = [:]
        var byteCount = 0
        for (name, text) in self.properties.sorted(by: { $0.key < $1.key }) {
            let added = name.text.utf8.count + text.utf8.count
            if !piece.properties.isEmpty, byteCount + added > byteCountMax || piece.properties.count >= 1 << 12 {
                pieces.append(piece)
                (piece.properties, piece.isContinuation, byteCount) = ([:], true, 0)
            }
            piece.properties[name] = text
            byteCount += added
        }
        return pieces + [piece]
    }
}
