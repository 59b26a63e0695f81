internal import CRDTCore
internal import LocalAPI

/// Where a command's output goes: standard output here, or a socket to the caller.
///
/// Collects small pieces; `flush` hands them on.
final class CommandOutput {
    let format: OutputFormat
    private let emit: (Piece) async throws -> Void
    private var buffer: [UInt8] = []

    enum Piece {
        case data(ArraySlice<UInt8>)
        /// A text to draw as a QR code where a person looks.
        case qrCode(String)
        /// A line on how far long work has come.
        case progress(String)
        /// A sentence for standard error that is not a failure.
        case note(String)
    }

    static let chunkByteCount = 32 << 10

    init(format: OutputFormat, emit: @escaping (Piece) async throws -> Void) {
        self.format = format
        self.emit = emit
    }

    /// Prints bytes that programs take as they are.
    func write(_ bytes: some Sequence<UInt8>) async throws {
        self.buffer.append(contentsOf: bytes)
        if self.buffer.count >= Self.chunkByteCount { try await self.flush() }
    }

    /// Prints text for people: one line, in which nothing breaks it or steers a terminal.
    func line(_ text: String) async throws {
        try await self.write((TerminalText.line(text) + "\n").utf8)
    }

    /// Prints lines of columns for people.
    func table(_ rows: [[String]]) async throws {
        try await self.write(PlainText.table(rows).utf8)
    }

    /// Prints canonical JSON, on one line.
    func json(_ answer: some Encodable) async throws {
        try await self.write((JSON(answer).canonicalText + "\n").utf8)
    }

    func qrCode(of text: String) async throws {
        try await self.flush()
        try await self.emit(.qrCode(text))
    }

    func progress(_ text: String) async throws {
        try await self.flush()
        try await self.emit(.progress(text))
    }

    func note(_ text: String) async throws {
        try await self.flush()
        try await self.emit(.note(text))
    }

    func flush() async throws {
        let bytes = self.buffer
        self.buffer = []
        var rest = bytes[...]
        while !rest.isEmpty {
            try await self.emit(.data(rest.prefix(Self.chunkByteCount)))
            rest = rest.dropFirst(Self.chunkByteCount)
        }
    }
}
