package import Foundation
internal import Persistence

/// The text of a file to import, of which a part at a time is in memory.
package struct ImportText: Sendable {
    package let byteCount: Int
    private let content: @Sendable (Range<Int>) throws -> [UInt8]

    /// Text that is in memory already, or mapped.
    package init(_ data: Data) {
        self.byteCount = data.count
        let start = data.startIndex
        self.content = { range in Array(data[start + range.lowerBound..<start + range.upperBound]) }
    }

    /// The text of an open file, which must stay open.
    package init(file descriptor: Int32, byteCount: Int) {
        self.byteCount = byteCount
        self.content = { range in
            var bytes = [UInt8](repeating: 0, count: range.count)
            let count = bytes.withUnsafeMutableBytes { OpenFile.read(descriptor, at: range.lowerBound, into: $0) }
            guard count == range.count else { throw PrivateFile.failure("The text to import", "cannot be read") }
            return bytes
        }
    }

    /// Reads a part.
    func bytes(_ range: Range<Int>) throws -> [UInt8] { try self.content(range) }
}
