package import CRDTCore

/// The objects of a file to import, and in which order to make them.
///
/// Parents come before their children, and siblings in the order of their positions, so that each can be put at the
/// end.
package struct ImportFile {
    /// Objects to make, parents first.
    package private(set) var objects: [ImportedObject] = []

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
    package init(parsing text: some Sequence<UInt8>, randomID: () -> ObjectID) throws {
        let bytes = Array(text)
        let elements: [JSON]
        switch JSON.parse(bytes, depthMax: JSON.depthMax + Self.depthAroundValues) {
        case .success(.array(let found)): elements = found
        case .success:
            throw PeerdError(.importInvalid, "The file is not a JSON array of objects.", advice: Self.advice)
        case .failure(let failure):
            let line = bytes.prefix(failure.offset).count { $0 == UInt8(ascii: "\n") } + 1
            throw PeerdError(
                .importInvalid,
                "The file is not JSON from line \(line), byte \(failure.offset) on, or a number there is too large.",
                advice: Self.advice
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
            throw self.failure(number, "has an unknown member \"\(unknown)\"")
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
            throw PeerdError(.importInvalid, "Some objects of the file stand below themselves.", advice: Self.advice)
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

    private static let advice = "Correct the file; nothing was imported."

    private static func failure(_ number: Int, _ what: String) -> PeerdError {
        PeerdError(.importInvalid, "Object \(number) of the file \(what).", advice: self.advice)
    }
}

extension ImportFile {
    package static let batchObjectCountMax = 512
    /// Well below what one change can hold.
    private static let batchOperationCountMax = 4096
    private static let batchByteCountMax = 64 << 10

    /// The objects in batches that each fit into one transaction.
    package var batches: [[ImportedObject]] {
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
