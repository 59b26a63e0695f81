/// Where a command's output goes: standard output here, or a socket to the caller.
///
/// Collects small pieces; `flush` hands them on.
final class CommandOutput {
    let format: OutputFormat
    private let emit: (Piece) async throws -> Void
    private var buffer: [UInt8] = []

    enum Piece {
        case data(ArraySlice<UInt8>)
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

    func write(_ bytes: some Sequence<UInt8>) async throws {
        self.buffer.append(contentsOf: bytes)
        if self.buffer.count >= Self.chunkByteCount { try await self.flush() }
    }

    func line(_ text: String) async throws {
        try await self.write((text + "\n").utf8)
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
