package import CRDTCore

/// A file of a blob store.
///
/// The hashes of a blob's tree lie in their place from the first proof on; what they prove is moved there as a whole.
package enum BlobFile: Hashable, Sendable {
    /// The content of a blob that is all here.
    case content(BlobRoot)
    /// The hashes of a blob of several leaves (`BlobTreeLayout`).
    case tree(BlobRoot)
    /// What has come of a blob that is under way, each leaf in its place.
    case incoming(BlobRoot)
    /// Which leaves of that are there, while nothing is written to it.
    case leaves(BlobRoot)
    /// A file that is being copied in, whose root is not known yet.
    case copy(UInt64)
    /// The content of a blob that nothing refers to any more, until its rest is over.
    case trash(BlobRoot)

    /// The folder that a file lies in.
    package enum Folder: Hashable, Sendable {
        /// Contents and trees, by the first byte of the root.
        case held(UInt8)
        case incoming
        case trash
    }

    package var folder: Folder {
        switch self {
        case .content(let root), .tree(let root): .held(root.firstByte)
        case .incoming, .leaves, .copy: .incoming
        case .trash: .trash
        }
    }
}

extension BlobFile.Folder {
    /// Every folder there may be.
    package static var all: [BlobFile.Folder] { (0...UInt8.max).map { .held($0) } + [.incoming, .trash] }

    package var name: String {
        switch self {
        case .held(let first): Hexadecimal.text([first])
        case .incoming: "incoming"
        case .trash: "trash"
        }
    }
}

extension BlobFile {
    private static let treeSuffix = ".tree"
    private static let leavesSuffix = ".leaves"
    private static let copyPrefix = "copy-"

    /// The name in its folder.
    package var name: String {
        switch self {
        case .content(let root): String(root.description.dropFirst(2))
        case .tree(let root): root.description.dropFirst(2) + Self.treeSuffix
        case .incoming(let root), .trash(let root): root.description
        case .leaves(let root): root.description + Self.leavesSuffix
        case .copy(let number): Self.copyPrefix + String(number, radix: 16)
        }
    }

    package var path: String { "\(self.folder.name)/\(self.name)" }

    /// The file with a name in a folder; nil if it is no name that a store gives.
    package init?(name: String, in folder: Folder) {
        let file: BlobFile?
        switch folder {
        case .held:
            let isTree = name.hasSuffix(Self.treeSuffix)
            let root = BlobRoot(text: folder.name + name.dropLast(isTree ? Self.treeSuffix.count : 0))
            file = root.map { isTree ? .tree($0) : .content($0) }
        case .incoming where name.hasPrefix(Self.copyPrefix):
            file = UInt64(name.dropFirst(Self.copyPrefix.count), radix: 16).map { .copy($0) }
        case .incoming:
            let isNote = name.hasSuffix(Self.leavesSuffix)
            let root = BlobRoot(text: String(name.dropLast(isNote ? Self.leavesSuffix.count : 0)))
            file = root.map { isNote ? .leaves($0) : .incoming($0) }
        case .trash: file = BlobRoot(text: name).map { .trash($0) }
        }
        // One name for each file: nothing that only looks like it.
        guard let file, file.name == name else { return nil }
        self = file
    }
}

extension BlobRoot {
    fileprivate var firstByte: UInt8 { UInt8(truncatingIfNeeded: self.bytes.words.0 >> 56) }
}
