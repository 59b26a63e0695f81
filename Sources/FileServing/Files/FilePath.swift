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

    /// The reason why a text is no path.
    package enum Objection: Error, Equatable {
        case emptyComponent
        /// `.` or `..`
        case dots
        /// A slash or backslash within a name.
        case separator
        case controlCharacter
        case invalidUTF8
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

    private init(valid components: [String]) {
        self.components = components
    }

    /// nil for the root.
    package var name: String? { self.components.last }

    /// The folder around it; the root for the root.
    var parent: FilePath { FilePath(valid: Array(self.components.dropLast())) }

    /// Whether a name in a folder can be part of a path.
    static func canName(_ bytes: [UInt8]) -> Bool { (try? self.name(bytes)) != nil }

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
}
