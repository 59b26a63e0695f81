/// A reference to a blob: a run of bytes that never changes, and what whoever attached it said of it.
///
/// This version reads and passes on such references, and neither makes them nor keeps or carries contents. Two
/// references to equal content name one blob, also if they differ in type or name.
public struct BlobReference: Hashable, Sendable {
    /// What the blob is known by: it follows from the content and its length.
    package var root: BlobRoot
    /// The length of the content in bytes, as the reference says; the root proves it.
    public package(set) var byteCount: UInt64
    /// The media type of the content (RFC 6838), at most 255 bytes; empty if nobody has said it.
    public package(set) var mediaType: String
    /// The name of the file that was attached, at most 255 bytes.
    ///
    /// It is text from somebody else, and never a path.
    public package(set) var fileName: String

    /// Bytes of the longest blob.
    package static let byteCountMax: UInt64 = 1 << 40
    /// Bytes of a media type, as RFC 6838 §4.2 bounds it.
    package static let mediaTypeByteCountMax = 255
    /// Bytes of a file name, as most file systems bound it.
    package static let fileNameByteCountMax = 255

    /// Nil if the blob, the media type or the file name is too long.
    package init?(root: BlobRoot, byteCount: UInt64, mediaType: String, fileName: String) {
        guard byteCount <= Self.byteCountMax, mediaType.utf8.count <= Self.mediaTypeByteCountMax,
            fileName.utf8.count <= Self.fileNameByteCountMax
        else { return nil }
        (self.root, self.byteCount, self.mediaType, self.fileName) = (root, byteCount, mediaType, fileName)
    }

    /// Whether both name the same blob in the same words, to the last bit of each.
    public static func == (left: BlobReference, right: BlobReference) -> Bool {
        left.root == right.root && left.byteCount == right.byteCount
            && left.mediaType.utf8.elementsEqual(right.mediaType.utf8)
            && left.fileName.utf8.elementsEqual(right.fileName.utf8)
    }

    /// Hashes the root; what differs in nothing else is rare.
    public func hash(into hasher: inout Hasher) { hasher.combine(self.root) }

    /// Appends root, length, media type with its length, and file name up to the end.
    func encode(to bytes: inout [UInt8]) {
        self.root.bytes.append(to: &bytes)
        bytes.appendVarint(self.byteCount)
        bytes.appendVarint(UInt64(self.mediaType.utf8.count))
        bytes.append(contentsOf: self.mediaType.utf8)
        bytes.append(contentsOf: self.fileName.utf8)
    }

    /// Reads all that is left of a reader.
    init(from reader: inout ByteReader) throws(WireError) {
        let root = BlobRoot(bytes: try reader.bytes32())
        let byteCount = try reader.varint()
        let mediaType = try reader.text(atMost: Self.mediaTypeByteCountMax)
        let fileName = try Value.text(try reader.slice(reader.remaining))
        guard
            let reference = BlobReference(root: root, byteCount: byteCount, mediaType: mediaType, fileName: fileName)
        else { throw .overLimit }
        self = reference
    }

    /// The JSON form.
    var json: JSON {
        .object([
            "root": .string(self.root.description),
            "bytes": .int(Int64(self.byteCount)),
            "type": .string(self.mediaType),
            "name": .string(self.fileName),
        ])
    }

    /// Reads `json`; nil for anything else.
    init?(_ fields: [ExactText: JSON]) {
        guard fields.count == 4, case .string(let text)? = fields["root"], case .int(let count)? = fields["bytes"],
            case .string(let type)? = fields["type"], case .string(let name)? = fields["name"], count >= 0,
            let root = BlobRoot(text: text)
        else { return nil }
        self.init(root: root, byteCount: UInt64(count), mediaType: type, fileName: name)
    }
}
