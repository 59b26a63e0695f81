/// Finds the elements of a JSON array one after the other, without understanding what is in them.
struct ImportScanner {
    /// An element of the array, as text.
    struct Element {
        /// Counted from 1.
        var number: Int
        /// The line on which it begins, counted from 1.
        var line: Int
        var offset: Int
        var bytes: [UInt8]
    }

    private let text: ImportText
    private var piece: [UInt8] = []
    /// Where the piece begins in the text.
    private var pieceOffset = 0
    /// The next byte, in the piece.
    private var position = 0
    private var line = 1
    private var count = 0

    private static let pieceByteCount = 256 << 10

    init(_ text: ImportText) { self.text = text }

    /// Returns the next element; nil behind the last.
    mutating func next() throws -> Element? {
        if self.count == 0 {
            try self.begin()
            if try self.significant() == UInt8(ascii: "]") { return try self.end() }
        } else {
            switch try self.significant() {
            case UInt8(ascii: "]"): return try self.end()
            case UInt8(ascii: ","): self.position += 1
            case nil: throw self.failure("the file ends behind object \(self.count), within the array")
            default: throw self.failure("a comma is missing behind object \(self.count)")
            }
        }
        switch try self.significant() {
        case nil: throw self.failure("the file ends behind object \(self.count), within the array")
        case UInt8(ascii: ","), UInt8(ascii: "]"):
            throw self.failure("there is a comma too many behind object \(self.count)")
        default: return try self.element()
        }
    }

    /// Reads up to the first element.
    private mutating func begin() throws {
        let start = try self.text.bytes(0..<min(3, self.text.byteCount))
        guard !start.starts(with: [0xff, 0xfe]), !start.starts(with: [0xfe, 0xff]) else {
            throw self.failure("the file is UTF-16, and not UTF-8")
        }
        // Some editors put a byte order mark there, which means nothing in UTF-8.
        if start == [0xef, 0xbb, 0xbf] { self.pieceOffset = 3 }
        guard let first = try self.significant() else { throw self.failure("the file is empty") }
        guard first == UInt8(ascii: "[") else { throw self.failure("the file does not begin with “[”") }
        self.position += 1
    }

    private mutating func end() throws -> Element? {
        self.position += 1
        guard try self.significant() == nil else { throw self.failure("something stands behind the end of the array") }
        return nil
    }

    /// Reads an element to where it may end; whether it is JSON is for others to find out.
    private mutating func element() throws -> Element {
        self.count += 1
        var element = Element(
            number: self.count,
            line: self.line,
            offset: self.pieceOffset + self.position,
            bytes: []
        )
        var (depth, isInString, isEscaped) = (0, false, false)
        while let byte = try self.byte() {
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
            } else {
                switch byte {
                case UInt8(ascii: "\""): isInString = true
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
                case UInt8(ascii: ","): if depth == 0 { return element }
                default: break
                }
                if depth < 0 { return element }
            }
            if byte == UInt8(ascii: "\n") { self.line += 1 }
            element.bytes.append(byte)
            self.position += 1
            let isClosed = byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
            if depth == 0, isClosed, !isInString { return element }
        }
        throw ImportFile.failure(element, "does not end")
    }

    /// The next byte that is no white space; nil at the end.
    private mutating func significant() throws -> UInt8? {
        while let byte = try self.byte() {
            guard byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 else { return byte }
            if byte == 0x0a { self.line += 1 }
            self.position += 1
        }
        return nil
    }

    private mutating func byte() throws -> UInt8? {
        if self.position < self.piece.count { return self.piece[self.position] }
        self.pieceOffset += self.piece.count
        self.position = 0
        let end = min(self.pieceOffset + Self.pieceByteCount, self.text.byteCount)
        self.piece = try self.text.bytes(self.pieceOffset..<max(self.pieceOffset, end))
        return self.piece.first
    }

    private func failure(_ what: String) -> PeerdError {
        PeerdError(
            .importInvalid,
            "The file is not a JSON array of objects: on line \(self.line), \(what).",
            advice: ImportFile.advice
        )
    }
}
