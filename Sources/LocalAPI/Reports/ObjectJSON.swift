internal import CRDTCore
internal import PeerCrypto
package import PeerdKit

extension Object {
    /// A text that differs wherever two states of the object do; how many children it has is no part of its state.
    package var version: String { Self.version(of: self.contentBytes) }

    /// Appends the text of its ``ObjectAnswer``, and returns the version.
    @discardableResult
    package func append(to bytes: inout [UInt8]) -> String {
        var content = self.contentBytes
        let version = Self.version(of: content)
        content.removeLast()
        bytes += content
        bytes += ",\"child_count\":\(self.childCount),\"version\":\"\(version)\"}".utf8
        return version
    }

    /// The text without version and children, made without the members: this is what a read spends most of its time on.
    private var contentBytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(512)
        func put(_ name: String, _ text: String?) {
            bytes += name.utf8
            if let text { JSON.appendQuoted(text, to: &bytes) } else { bytes += "null".utf8 }
        }
        bytes += "{\"created_at\":".utf8
        JSON(self.createdAt?.millisecondsSince1970).append(to: &bytes)
        put(",\"created_by\":", self.createdBy)
        put(",\"creator\":", self.creator)
        put(",\"id\":", self.id.description)
        put(",\"kind\":", self.kind)
        bytes += ",\"missing\":".utf8
        JSON.array(self.missingProperties.map { .string($0) }).append(to: &bytes)
        put(",\"owner\":", self.creator)
        put(",\"parent\":", self.parent?.description)
        put(",\"position\":", self.position)
        bytes += ",\"properties\":{".utf8
        for (index, property) in self.properties.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            JSON.appendQuoted(property.key, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            property.value.json.append(to: &bytes)
        }
        put("},\"type\":", self.type)
        bytes += ",\"updated_at\":".utf8
        JSON(self.updatedAt.millisecondsSince1970).append(to: &bytes)
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    private static func version(of bytes: [UInt8]) -> String {
        Hexadecimal.text(bytes.withUnsafeBytes { Blake2b.unpersonalised256($0) }.0)
    }
}
