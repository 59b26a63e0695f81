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
        let content = self.contentBytes
        let version = Self.version(of: content)
        bytes += content.dropLast()
        bytes += ",\"child_count\":\(self.childCount),\"version\":\"\(version)\"}".utf8
        return version
    }

    private var contentBytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(512)
        JSON.object(self.contentMembers).append(to: &bytes)
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
