internal import CRDTCore
internal import LocalAPI

/// What a command prints: data on standard output, progress and notes on standard error.
///
/// Collects small pieces; `flush` hands them on.
final class CommandOutput {
    /// Whether data is wanted as JSON, and not as text for people.
    let isJSON: Bool
    private let emit: ([UInt8]) throws -> Void
    private var buffer: [UInt8] = []
    /// Whether the command does something that counts, whether or not anybody hears of it.
    private let hasEffect: Bool
    /// Why such a command could not say all of what it had to say.
    private var failure: (any Error)?

    private static let chunkByteCount = 32 << 10

    /// `emit`: where data goes.
    init(
        isJSON: Bool,
        hasEffect: Bool = false,
        emit: @escaping ([UInt8]) throws -> Void = { try StandardStreams.output($0) }
    ) {
        self.isJSON = isJSON
        self.hasEffect = hasEffect
        self.emit = emit
    }

    /// Prints bytes that programs take as they are.
    func write(_ bytes: some Sequence<UInt8>) throws {
        self.buffer.append(contentsOf: bytes)
        if self.buffer.count >= Self.chunkByteCount { try self.flush() }
    }

    /// Prints text for people: one line, in which nothing breaks it or steers a terminal.
    func line(_ text: String) throws { try self.write((TerminalText.line(text) + "\n").utf8) }

    /// Prints lines of columns for people.
    func table(_ rows: [[String]]) throws { try self.write(PlainText.table(rows).utf8) }

    /// Prints canonical JSON, on one line.
    func json(_ answer: some Encodable) throws { try self.write((JSON(answer).canonicalText + "\n").utf8) }

    /// Prints an answer as JSON, or else a line that says it to people.
    func show(_ answer: some Encodable, _ text: @autoclosure () -> String) throws {
        if self.isJSON { try self.json(answer) } else { try self.line(text()) }
    }

    /// Draws a QR code of a text where a person looks.
    func qrCode(of text: String) throws {
        try self.flush()
        try StandardStreams.draw(qrCodeOf: text)
    }

    /// Shows how far long work has come.
    func progress(_ text: String) throws {
        try self.flush()
        StandardStreams.progress(text)
    }

    /// Writes a sentence to standard error that is not a failure.
    func note(_ text: String) throws {
        try self.flush()
        StandardStreams.note(text)
    }

    func flush() throws {
        let bytes = self.buffer
        self.buffer = []
        guard !bytes.isEmpty, self.failure == nil else { return }
        do {
            try self.emit(bytes)
        } catch {
            guard self.hasEffect else { throw error }
            self.failure = error
        }
    }

    /// Hands on what is left of a command that has done what it should.
    ///
    /// A script that takes an error for “not done” would do it again. So that its output is lost is no error of a
    /// command with an effect, but said.
    func end() throws {
        try self.flush()
        guard let failure = self.failure as? CommandFailure else { return }
        StandardStreams.note("This is done. \(failure.message)")
    }
}
