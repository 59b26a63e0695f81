/// The place of a file or folder in a ``FileTree``: names that cannot lead out of it.
///
/// Names are bytes; two spellings of one letter are two names. The empty path is the root.
package struct FilePath: Hashable, Sendable {
    /// From the root to the file.
    package let components: [String]

    /// The greatest number of bytes in a name, which file systems have, too.
    static let componentByteCountMax = 255
    /// The greatest number of bytes in all names and the slashes between them.
    static let byteCountMax = 4_096
    static let depthMax = 64
    /// The beginning of the names of files that are being written; no path can name them.
    static let uploadPrefix = ".peerd-upload-"

    static let root = FilePath(valid: [])

    /// The reason why a text is no path.
    package enum Objection: Error, Equatable {
        case emptyComponent
        /// `.` or `..`
        case dots
        /// A slash or backslash within a name.
        case separator
        case controlCharacter
        case invalidUTF8
        case invalidPercentEncoding
        case nameTooLong
        case pathTooLong
        case tooDeep
        /// The name of an upload.
        case reserved

        /// The reason in words.
        package var text: String {
            switch self {
            case .emptyComponent: "a name in it is empty"
            case .dots: "it leads elsewhere by “.” or “..”"
            case .separator: "a name in it has a slash or a backslash"
            case .controlCharacter: "a name in it has a control character"
            case .invalidUTF8: "a name in it is not UTF-8"
            case .invalidPercentEncoding: "an escape in it is cut short"
            case .nameTooLong: "a name in it has more than \(FilePath.componentByteCountMax) bytes"
            case .pathTooLong: "it has more than \(FilePath.byteCountMax) bytes"
            case .tooDeep: "it has more than \(FilePath.depthMax) levels"
            case .reserved: "names that begin with \(FilePath.uploadPrefix) are those of unfinished uploads"
            }
        }
    }

    /// Takes names after percent-decoding.
    package init(components: [[UInt8]]) throws(Objection) {
        guard components.count <= Self.depthMax else { throw .tooDeep }
        var byteCount = max(0, components.count - 1)
        var names: [String] = []
        for component in components {
            byteCount += component.count
            guard byteCount <= Self.byteCountMax else { throw .pathTooLong }
            names.append(try Self.name(component))
        }
        self.components = names
    }

    /// Reads the part of a URL's path behind the prefix of the tree, still encoded.
    ///
    /// It is split before it is decoded, so that an encoded slash is not one. A slash at the end is left out; ask
    /// ``namesFolder(_:)`` about it.
    init(percentEncoded text: String) throws(Objection) {
        // In bytes: a slash may be part of a longer character.
        var bytes = Array(text.utf8)
        if bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
        if bytes.isEmpty {
            guard text.utf8.isEmpty else { throw .emptyComponent }
            self = .root
            return
        }
        guard bytes.count <= 3 * Self.byteCountMax else { throw .pathTooLong }
        let parts = bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count <= Self.depthMax else { throw .tooDeep }
        var components: [[UInt8]] = []
        for part in parts { components.append(try Self.decoded(part)) }
        try self.init(components: components)
    }

    private init(valid components: [String]) {
        self.components = components
    }

    /// Whether the text ends in a slash or is empty, as only that of a folder does.
    static func namesFolder(_ text: String) -> Bool {
        text.utf8.isEmpty || text.utf8.last == UInt8(ascii: "/")
    }

    /// nil for the root.
    package var name: String? { self.components.last }

    /// The folder around it; the root for the root.
    var parent: FilePath { FilePath(valid: Array(self.components.dropLast())) }

    /// Whether a name in a folder can be part of a path.
    static func canName(_ bytes: [UInt8]) -> Bool {
        do {
            _ = try self.name(bytes)
            return true
        } catch {
            return false
        }
    }

    private static func name(_ bytes: [UInt8]) throws(Objection) -> String {
        guard !bytes.isEmpty else { throw .emptyComponent }
        guard bytes.count <= self.componentByteCountMax else { throw .nameTooLong }
        guard bytes != Array(".".utf8), bytes != Array("..".utf8) else { throw .dots }
        guard !bytes.contains(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }) else { throw .separator }
        guard let name = String(validating: bytes, as: UTF8.self) else { throw .invalidUTF8 }
        guard !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw .controlCharacter
        }
        guard !name.utf8.starts(with: self.uploadPrefix.utf8) else { throw .reserved }
        return name
    }

    private static func decoded(_ text: ArraySlice<UInt8>) throws(Objection) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(self.digit), let low = rest.popFirst().flatMap(self.digit) else {
                throw .invalidPercentEncoding
            }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
