package import CRDTCore
internal import Foundation

/// The content of a snapshot, form 1: canonical JSON, with the objects as an export has them.
///
/// The id is a hash of the bytes, so that a snapshot which is imported again is the same one.
package struct SnapshotContent: Sendable {
    /// The canonical text.
    let text: SnapshotText
    /// In ascending order of ids.
    package let objects: [Element]

    package var object: ObjectID { self.text.object }
    package var name: String? { self.text.name }

    /// An object of a snapshot.
    package struct Element: Sendable {
        package let id: ObjectID
        package let type: String
        package let kind: String
        package let parent: ObjectID?
        package let position: Position
        package let properties: [ExactText: JSON]
        /// The properties whose values were not there.
        let missing: Set<ExactText>
    }

    /// Values lie so much deeper than they may by themselves.
    private static let depthAroundValues = 4

    /// Reads a snapshot that may come from anywhere.
    ///
    /// - Throws: ``PeerdError`` with `importInvalid` or `tooLarge`.
    package init(parsing text: some Collection<UInt8>) throws {
        guard text.count <= ObjectSnapshot.byteCountMax else { throw SnapshotText.tooLarge }
        guard case .success(let json) = JSON.parse(Array(text), depthMax: JSON.depthMax + Self.depthAroundValues),
            case .object(let members) = json, members["format"] == .string(SnapshotText.form),
            case .string(let id)? = members["object"], let object = ObjectID(text: id),
            case .int(let time)? = members["created_at"], time >= 0, case .array(let elements)? = members["objects"]
        else {
            throw Self.invalid("is not a snapshot in the form of this version")
        }
        let name: String?
        switch members["name"] {
        case .null?, nil: name = nil
        case .string(let text)?: name = text
        default: throw Self.invalid("has a name that is not text")
        }
        guard name?.utf8.count ?? 0 <= Limits.nameByteCountMax else {
            throw Self.invalid("has a name of more than \(Limits.nameByteCountMax) bytes")
        }
        guard time <= Date.millisecondsMax else { throw Self.invalid("was made after the year 9999") }
        let objects = try elements.map { (element: try Element($0), json: $0) }
            .sorted { $0.element.id < $1.element.id }
        var canonical = SnapshotText(of: object, name: name, time: UInt64(time))
        for object in objects { try canonical.add(object.json) }
        try canonical.finish()
        (self.text, self.objects) = (canonical, objects.map(\.element))
        try self.checkTree()
    }

    /// Each object before what is below it, siblings in their order, with its depth.
    package var inTreeOrder: [(element: Element, depth: Int)] {
        var children: [ObjectID: [Element]] = [:]
        for element in self.objects where element.id != self.object {
            if let parent = element.parent { children[parent, default: []].append(element) }
        }
        var open = self.objects.filter { $0.id == self.object }.map { (element: $0, depth: 0) }
        var found: [(element: Element, depth: Int)] = []
        while let next = open.popLast() {
            found.append(next)
            let below = (children[next.element.id] ?? []).sorted { left, right in
                left.position == right.position ? left.id < right.id : left.position < right.position
            }
            open += below.reversed().map { ($0, next.depth + 1) }
        }
        return found
    }

    /// Every object is below the one at the top, and none is there twice.
    private func checkTree() throws {
        guard zip(self.objects, self.objects.dropFirst()).allSatisfy({ $0.id != $1.id }) else {
            throw Self.invalid("has an object twice")
        }
        guard self.inTreeOrder.count == self.objects.count, !self.objects.isEmpty else {
            throw Self.invalid("has objects that are not below the one at its top")
        }
    }

    fileprivate static func invalid(_ what: String) -> PeerdError {
        PeerdError(.importInvalid, "The file \(what).", advice: "Choose a file that was made by exporting a snapshot.")
    }
}

extension SnapshotContent.Element {
    /// Reads an object of an export.
    fileprivate init(_ json: JSON) throws {
        guard case .object(let members) = json, case .string(let id)? = members["id"], let object = ObjectID(text: id),
            case .object(let properties)? = members["properties"]
        else { throw SnapshotContent.invalid("has an object without id or properties") }
        func text(_ name: ExactText) throws -> String? {
            switch members[name] {
            case .string(let text)?: return text
            case .null?, nil: return nil
            default: throw SnapshotContent.invalid("has an object whose “\(name.text)” is not text")
            }
        }
        let parent = try text("parent")
        self.id = object
        self.type = try text("type") ?? ""
        self.kind = try text("kind") ?? ""
        self.parent = parent.flatMap { ObjectID(text: $0) }
        self.position = Self.position(try text("position") ?? "")
        self.properties = properties
        self.missing = Set(try Self.names(members["missing"] ?? .array([])))
        guard parent == nil || self.parent != nil else { throw SnapshotContent.invalid("has a parent that is no id") }
        let names = [self.type, self.kind] + properties.keys.map(\.text) + self.missing.map(\.text)
        guard names.allSatisfy({ $0.utf8.count <= Limits.nameByteCountMax }) else {
            throw SnapshotContent.invalid("has a name of more than \(Limits.nameByteCountMax) bytes")
        }
        guard properties.values.allSatisfy({ Value($0).encoded.count <= Limits.valueByteCountMax }) else {
            throw SnapshotContent.invalid("has a value of more than \(Limits.valueByteCountMax) bytes")
        }
    }

    private static func names(_ json: JSON) throws -> [ExactText] {
        let failure = SnapshotContent.invalid("has missing properties without names")
        guard case .array(let names) = json else { throw failure }
        return try names.map { name in
            guard case .string(let text) = name else { throw failure }
            return ExactText(text)
        }
    }

    /// Reads what `StateExport` writes.
    private static func position(_ text: String) -> Position {
        if text.hasPrefix("0x"), let bytes = Hexadecimal.bytes(String(text.dropFirst(2))) {
            return Position(bytes: bytes)
        }
        return Position(bytes: Array(text.utf8))
    }
}
