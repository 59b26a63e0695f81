package import CRDTCore

/// The objects of a file to import, and in which order to make them.
///
/// Parents come before their children, and siblings in the order of their positions, so that each can be put at the
/// end. Of each object only its place is in memory; the rest is read again when it is its turn.
package struct ImportFile {
    private let text: ImportText
    private var entries: [Entry] = []
    private var types = TypeTable()
    /// The entries as they are to be made, parents first.
    private var order: [Int32] = []

    struct Entry {
        var offset: Int
        var byteCount: Int
        var line: Int
        /// Its id, or what stands for its type and key.
        var mark: ObjectID
        var parentMark: ObjectID?
        var position: String
        /// The type that a parent has which a key alone names.
        var parentType: Int32?
        var hasParent: Bool
        var hasType: Bool
    }

    /// The number of objects.
    package var count: Int { self.entries.count }

    /// Reads the text of a file.
    ///
    /// `randomID` makes an id for an object that has neither id nor key.
    package init(reading text: ImportText, randomID: () -> ObjectID) throws {
        self.text = text
        var keyed = KeyedObjects()
        var scanner = ImportScanner(text)
        while let element = try scanner.next() {
            if element.number % Self.batchObjectCountMax == 0 { try Task.checkCancellation() }
            let content = try ImportElement(element)
            _ = (try content.properties(), try content.missing())
            self.add(content, &keyed, randomID)
        }
        try self.resolveParentKeys(keyed)
        try self.arrange()
    }

    /// The object that is made after so many others.
    package func object(at position: Int) throws -> ImportedObject {
        let index = Int(self.order[position])
        let entry = self.entries[index]
        let bytes = try self.text.bytes(entry.offset..<entry.offset + entry.byteCount)
        let element = ImportScanner.Element(number: index + 1, line: entry.line, offset: entry.offset, bytes: bytes)
        let content = try ImportElement(element)
        var parent = content.parent.map { ImportedObject.Reference.id($0) }
        if let key = content.parentKey {
            let type = entry.parentType.map { self.types[$0] } ?? ExactText(content.parentType ?? "")
            parent = .key(type: type, key: ExactText(key))
        }
        let isKeyed = content.id == nil && content.key != nil
        return ImportedObject(
            number: index + 1,
            line: entry.line,
            reference: isKeyed
                ? .key(type: ExactText(content.type), key: ExactText(content.key ?? ""))
                : .id(entry.mark),
            type: content.type,
            kind: content.kind,
            parent: parent,
            isPlacedAtRoot: parent == nil && content.members["parent"] == .null,
            properties: try content.properties(),
            missing: try content.missing()
        )
    }

    /// The places in the order of those objects whose parent is not in the file, and of those without a type.
    ///
    /// Both are fine only if the workspace has an object that the file does not.
    package func placesToCheck() -> (strangers: [Int], typeless: [Int]) {
        var (strangers, typeless): ([Int], [Int]) = ([], [])
        for (place, index) in self.order.enumerated() {
            let entry = self.entries[Int(index)]
            if entry.hasParent, entry.parentMark == nil { strangers.append(place) }
            if !entry.hasType { typeless.append(place) }
        }
        return (strangers, typeless)
    }

    // MARK: - Reading

    /// What keys alone may mean, by what stands for a key.
    private struct KeyedObjects {
        /// The type of the objects with that key; nil if they have several.
        var types: [ObjectID: Int32?] = [:]
        /// Objects that name their parent by a key without a type.
        var open: [(entry: Int, type: Int32, parentKey: String)] = []
    }

    private mutating func add(_ content: ImportElement, _ keyed: inout KeyedObjects, _ randomID: () -> ObjectID) {
        let type = self.types.index(of: ExactText(content.type))
        var entry = Entry(
            offset: content.element.offset,
            byteCount: content.element.bytes.count,
            line: content.element.line,
            mark: content.id ?? content.key.map { Self.mark(content.type, $0) } ?? randomID(),
            parentMark: content.parent,
            position: content.position,
            hasParent: content.parent != nil || content.parentKey != nil,
            hasType: !content.type.isEmpty
        )
        if content.id == nil, let key = content.key {
            let known = keyed.types.updateValue(type, forKey: Self.mark("", key))
            if let known, known != type { keyed.types[Self.mark("", key)] = .some(nil) }
        }
        if let key = content.parentKey {
            if let parentType = content.parentType, !parentType.isEmpty {
                entry.parentMark = Self.mark(parentType, key)
            } else {
                keyed.open.append((self.entries.count, type, key))
            }
        }
        self.entries.append(entry)
    }

    /// Stands for a type and a key within the file.
    private static func mark(_ type: String, _ key: String) -> ObjectID {
        let nothing = Bytes16(high: 0, low: 0)
        return ObjectID(of: UserID(bytes: .zero), key: key, type: type, in: ObjectID(bytes: nothing))
    }

    /// Finds out of which type the object is that a `parent_key` without `parent_type` means.
    private mutating func resolveParentKeys(_ keyed: KeyedObjects) throws {
        guard !keyed.open.isEmpty else { return }
        let marks = Set(self.entries.map(\.mark))
        for (index, ownType, key) in keyed.open {
            let ownMark = Self.mark(self.types[ownType].text, key)
            // One that is not in the file is taken for one of the same type that is in the workspace.
            var type = ownType
            if let known = keyed.types[Self.mark("", key)] {
                guard known != nil || marks.contains(ownMark) else {
                    let what = "needs a \"parent_type\": several types have that key"
                    throw Self.failure(index + 1, line: self.entries[index].line, what)
                }
                type = known ?? ownType
            }
            self.entries[index].parentType = type
            self.entries[index].parentMark = Self.mark(self.types[type].text, key)
        }
    }

    // MARK: - Order

    private mutating func arrange() throws {
        var places: [ObjectID: Int32] = [:]
        places.reserveCapacity(self.entries.count)
        for (index, entry) in self.entries.enumerated() {
            guard places.updateValue(Int32(index), forKey: entry.mark) == nil else {
                throw Self.failure(index + 1, line: entry.line, "has the same id or key as one before it")
            }
        }
        // The children of all, grouped by their parents: those at the root come last.
        var parents = [Int32](repeating: Int32(self.entries.count), count: self.entries.count)
        for index in self.entries.indices {
            guard let mark = self.entries[index].parentMark else { continue }
            if let place = places[mark] { parents[index] = place } else { self.entries[index].parentMark = nil }
        }
        places = [:]
        var starts = [Int32](repeating: 0, count: self.entries.count + 2)
        for parent in parents { starts[Int(parent) + 1] += 1 }
        for index in 1..<starts.count { starts[index] += starts[index - 1] }
        var (ends, children) = (starts, [Int32](repeating: 0, count: self.entries.count))
        for (index, parent) in parents.enumerated() {
            children[Int(ends[Int(parent)])] = Int32(index)
            ends[Int(parent)] += 1
        }
        let entries = self.entries
        func inOrder(_ parent: Int) -> [Int32] {
            children[Int(starts[parent])..<Int(ends[parent])].sorted { left, right in
                let (first, second) = (entries[Int(left)].position.utf8, entries[Int(right)].position.utf8)
                if first.elementsEqual(second) { return left < right }
                return first.lexicographicallyPrecedes(second)
            }
        }
        self.order = inOrder(self.entries.count)
        var next = 0
        while next < self.order.count {
            self.order += inOrder(Int(self.order[next]))
            next += 1
        }
        guard self.order.count == self.entries.count else {
            throw PeerdError(.importInvalid, "Some objects of the file stand below themselves.", advice: Self.advice)
        }
    }
}

/// The types of a file, each once.
private struct TypeTable {
    private var types: [ExactText] = []
    private var indices: [ExactText: Int32] = [:]

    subscript(index: Int32) -> ExactText { self.types[Int(index)] }

    mutating func index(of type: ExactText) -> Int32 {
        if let index = self.indices[type] { return index }
        let index = Int32(self.types.count)
        self.types.append(type)
        self.indices[type] = index
        return index
    }
}
