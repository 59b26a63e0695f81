/// A body of type `multipart/byteranges`: several parts of a representation, each behind a header of its own.
package struct MultipartRanges: Equatable, Sendable {
    let boundary: MultipartBoundary
    /// The body, in order.
    package let pieces: [Piece]
    /// The exact length of the body.
    let length: UInt64

    package enum Piece: Equatable, Sendable {
        /// Bytes to send as they are.
        case text([UInt8])
        /// Bytes of the representation.
        case content(Range<UInt64>)
    }

    /// nil if the body would have more bytes than can be counted.
    init?(_ ranges: [ContentRange], contentType: String, boundary: MultipartBoundary) {
        var pieces: [Piece] = []
        var length: UInt64 = 0
        func append(_ piece: Piece, _ count: UInt64) -> Bool {
            pieces.append(piece)
            let (sum, overflow) = length.addingReportingOverflow(count)
            length = sum
            return !overflow
        }
        for (index, range) in ranges.enumerated() {
            let header =
                "\(index == 0 ? "" : "\r\n")--\(boundary.text)\r\nContent-Type: \(contentType)\r\n"
                + "Content-Range: \(range.fieldValue)\r\n\r\n"
            let text = Array(header.utf8)
            guard append(.text(text), UInt64(text.count)),
                append(.content(range.bytes), range.bytes.upperBound - range.bytes.lowerBound)
            else { return nil }
        }
        let end = Array("\r\n--\(boundary.text)--\r\n".utf8)
        guard append(.text(end), UInt64(end.count)) else { return nil }
        self.boundary = boundary
        self.pieces = pieces
        self.length = length
    }

    /// The value of the `Content-Type` field of the response.
    package var contentType: String { "multipart/byteranges; boundary=\(self.boundary.text)" }
}

/// The line between two parts, of characters that need no quotes.
package struct MultipartBoundary: Equatable, Sendable {
    let text: String

    /// 128 random bits: no content has them by chance, and nobody can know them before.
    package static func random() -> MultipartBoundary {
        var generator = SystemRandomNumberGenerator()
        return self.init(high: generator.next(), low: generator.next())
    }

    init(high: UInt64, low: UInt64) {
        let digits = [high, low].map { number in
            let text = String(number, radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }
        self.text = "peerd-" + digits.joined()
    }
}
