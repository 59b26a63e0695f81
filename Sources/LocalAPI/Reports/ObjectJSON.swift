package import CRDTCore
internal import PeerCrypto
package import PeerdKit

extension Object {
    /// The object as the API shows it.
    package var json: JSON {
        var members = self.contentMembers
        members["version"] = .string(self.version)
        members["child_count"] = .int(Int64(self.childCount))
        return .object(members)
    }

    /// A text that differs wherever two states of the object do; how many children it has is no part of its state.
    package var version: String { Self.version(of: self.contentBytes) }

    /// Appends ``json``, and returns the version.
    @discardableResult
    package func append(to bytes: inout [UInt8]) -> String {
        var content = self.contentBytes
        let version = Self.version(of: content)
        content.removeLast()
        bytes += content
        bytes += ",\"child_count\":\(self.childCount),\"version\":\"\(version)\"}".utf8
        return version
    }

    /// The text of ``contentMembers``, without the members: this is what a read spends most of its time on.
    private var contentBytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(512)
        func put(_ name: String, _ text: String?) {
            bytes += name.utf8
            if let text { JSON.appendQuoted(text, to: &bytes) } else { bytes += "null".utf8 }
        }
        bytes += "{\"created_at\":".utf8
        (self.createdAt.map { .milliseconds($0) } ?? JSON.null).append(to: &bytes)
        put(",\"created_by\":", self.createdBy)
        put(",\"creator\":", self.creator)
        put(",\"id\":", self.id.description)
        put(",\"kind\":", self.kind)
        put(",\"owner\":", self.creator)
        put(",\"parent\":", self.parent?.description)
        put(",\"position\":", self.position)
        bytes += ",\"properties\":{".utf8
        let properties = self.properties.map { (name: ExactText($0.key), value: $0.value) }.sorted { $0.name < $1.name }
        for (index, property) in properties.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            JSON.appendQuoted(property.name.text, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            property.value.json.append(to: &bytes)
        }
        put("},\"type\":", self.type)
        bytes += ",\"updated_at\":".utf8
        JSON.milliseconds(self.updatedAt).append(to: &bytes)
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    private static func version(of bytes: [UInt8]) -> String {
        let digest = bytes.withUnsafeBytes { Blake2b.unpersonalised256($0) }
        var version: [UInt8] = []
        version.appendBigEndian(digest.0)
        return Hexadecimal.text(version)
    }

    private var contentMembers: [ExactText: JSON] {
        var properties: [ExactText: JSON] = [:]
        properties.reserveCapacity(self.properties.count)
        for (name, value) in self.properties { properties[ExactText(name)] = value.json }
        return [
            "id": .string(self.id.description),
            "type": .string(self.type),
            "kind": .string(self.kind),
            "parent": self.parent.map { .string($0.description) } ?? .null,
            "position": .string(self.position),
            "creator": self.creator.map { .string($0) } ?? .null,
            "owner": self.creator.map { .string($0) } ?? .null,
            "created_by": self.createdBy.map { .string($0) } ?? .null,
            "created_at": self.createdAt.map { .milliseconds($0) } ?? .null,
            "updated_at": .milliseconds(self.updatedAt),
            "properties": .object(properties),
        ]
    }
}

extension Delta {
    /// The members of a delta as the API sends it.
    var jsonMembers: [ExactText: JSON] {
        [
            "token": .string(self.token.description),
            "reset": .bool(self.isReset),
            "more": .bool(self.hasMore),
            "origin": self.origin.map { .string($0.rawValue) } ?? .null,
            "authors": .array(self.authors.map(\.json)),
            "objects": .array(
                self.objects.map { entry in
                    .object([
                        "id": .string(entry.id.description),
                        "changed": .array(entry.changed.map { .string($0) }),
                        "created": .bool(entry.isCreated),
                        "moved": .bool(entry.isMoved),
                        "includes_below": .bool(entry.includesBelow),
                        "state": entry.state?.json ?? .null,
                    ])
                }
            ),
        ]
    }
}

extension Author {
    var json: JSON { .object(["name": .string(self.name), "is_this_machine": .bool(self.isThisMachine)]) }
}
