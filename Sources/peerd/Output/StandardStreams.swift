internal import Foundation
internal import LocalAPI
internal import NIOConcurrencyHelpers
internal import PeerdKit

/// Standard output and error, unbuffered: what was written is out, also on a pipe.
///
/// Nothing else in the program writes to them. So text that a person typed or a peer sent reaches a terminal only
/// through here, where whatever could steer the terminal is escaped.
enum StandardStreams {
    /// Whoever reads the output has gone.
    struct ReaderGone: Error {
        /// What a shell reports of a program that SIGPIPE ended.
        static let exitCode: Int32 = 141
    }

    /// Takes the numbers of streams that are closed, so that no file that is opened gets one of them, and with it what
    /// is written to the stream.
    static func occupyClosed() {
        // A reader that has gone ends a write with an error, and not the program.
        signal(SIGPIPE, SIG_IGN)
        for descriptor in [self.inputDescriptor, self.outputDescriptor, self.errorDescriptor] {
            guard fcntl(descriptor, F_GETFD) < 0 else { continue }
            // The lowest number that is free. It can be used in the wrong direction only: what failed fails as before.
            _ = open("/dev/null", descriptor == self.inputDescriptor ? O_WRONLY : O_RDONLY)
        }
    }

    private static let outputFilter = NIOLockedValueBox(TerminalFilter())

    /// Writes all of it: byte for byte to a file or a pipe, and escaped to a terminal.
    ///
    /// Throws ``ReaderGone`` if nobody reads any more: that ends the program quietly, as it ends other filters.
    static func output(_ bytes: some Sequence<UInt8>) throws {
        let bytes =
            self.isTerminal(self.outputDescriptor)
            ? self.outputFilter.withLockedValue { $0.filtered(bytes) } : Array(bytes)
        try self.write(bytes, to: self.outputDescriptor)
    }

    /// Draws a QR code of a text, if output is a terminal and the text is not too long.
    static func draw(qrCodeOf text: String) throws {
        guard self.isTerminal(self.outputDescriptor), let code = QRCode(text: text) else { return }
        try self.write(Array(code.terminalText.utf8), to: self.outputDescriptor)
    }

    /// Writes one sentence to standard error, on one line.
    static func note(_ sentence: String) {
        self.error("peerd: \(TerminalText.line(sentence))\n")
    }

    /// Writes lines that the argument parser has made to standard error.
    static func usage(_ text: String) {
        self.error(TerminalText.lines(text) + "\n")
    }

    /// Writes one line of the daemon's log to standard error.
    static func log(_ line: String) {
        self.error(TerminalText.line(line) + "\n")
    }

    /// Shows how far long work has come, where a person looks: a line that the next one replaces.
    static func progress(_ text: String) {
        guard self.isTerminal(self.errorDescriptor) else { return }
        self.error("\r\u{1b}[K\(TerminalText.line(text))")
    }

    /// Reads a line of standard input, or its beginning if it is longer than that; nil at the end.
    static func line(atMost byteCountMax: Int) -> String? {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while line.count < byteCountMax {
            let count = read(self.inputDescriptor, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return line.isEmpty ? nil : String(decoding: line, as: UTF8.self) }
            guard byte != UInt8(ascii: "\n") else { break }
            line.append(byte)
        }
        return String(decoding: line, as: UTF8.self)
    }

    private static let inputDescriptor: Int32 = 0
    /// Whether somebody sits there who can be asked.
    static var canAsk: Bool { self.isTerminal(0) && self.isTerminal(self.errorDescriptor) }

    /// Asks a question on standard error, and reads a line.
    static func answer(to question: String) -> String {
        self.error(TerminalText.line(question))
        return (readLine() ?? "").trimmingCharacters(in: .whitespaces)
    }

    /// Asks for a secret if somebody sits there, and otherwise reads a line of standard input; nil at the end.
    static func secretLine(_ question: String, atMost byteCountMax: Int) async throws -> String? {
        guard self.canAsk else { return self.line(atMost: byteCountMax) }
        return try await self.secret(question, atMost: byteCountMax)
    }

    /// Asks for a secret on standard error, and reads a line that the terminal does not show; nil at the end.
    ///
    /// A signal that ends the program leaves the terminal as it was.
    static func secret(_ question: String, atMost byteCountMax: Int) async throws -> String? {
        self.error(TerminalText.line(question))
        return try await EndingSignals.cancelling {
            var shown = termios()
            guard tcgetattr(self.inputDescriptor, &shown) == 0 else { return self.line(atMost: byteCountMax) }
            var hidden = shown
            hidden.c_lflag &= ~tcflag_t(ECHO)
            hidden.c_lflag |= tcflag_t(ECHONL)
            tcsetattr(self.inputDescriptor, TCSAFLUSH, &hidden)
            defer { tcsetattr(self.inputDescriptor, TCSAFLUSH, &shown) }
            var input = pollfd(fd: self.inputDescriptor, events: Int16(POLLIN), revents: 0)
            // A terminal hands over whole lines.
            while poll(&input, 1, self.signalIntervalMilliseconds) <= 0 { try Task.checkCancellation() }
            return self.line(atMost: byteCountMax)
        }
    }

    private static let signalIntervalMilliseconds: Int32 = 100
    private static let outputDescriptor: Int32 = 1
    private static let errorDescriptor: Int32 = 2

    private static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    private static func error(_ text: String) {
        try? self.write(Array(text.utf8), to: self.errorDescriptor)
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EPIPE {
                throw ReaderGone()
            } else if errno != EINTR {
                throw CommandFailure(.failure, "The output could not be written: \(SystemText.ofErrno()).")
            }
        }
    }

    /// Whether there is a desktop that could open something.
    static var hasDesktop: Bool {
        let environment = ProcessInfo.processInfo.environment
        return environment["DISPLAY"] != nil || environment["WAYLAND_DISPLAY"] != nil
    }

    /// Has the desktop open a file; what it prints is dropped.
    ///
    /// All users of the machine can read the arguments of programs, so nothing secret is among them.
    static func openInDesktop(path: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["xdg-open", path]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try? process.run()
    }
}
