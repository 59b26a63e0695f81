internal import Foundation
internal import PeerdKit

/// Standard output and error, unbuffered: what was written is out, also on a pipe.
enum StandardStreams {
    static var outputIsTerminal: Bool { isatty(1) == 1 }
    static var errorIsTerminal: Bool { isatty(2) == 1 }

    /// Writes all of it.
    ///
    /// A reader that went away ends the program quietly, as it ends other filters.
    static func output(_ bytes: ArraySlice<UInt8>) throws {
        try self.write(bytes, to: 1)
    }

    static func error(_ text: String) {
        try? self.write(Array(text.utf8)[...], to: 2)
    }

    private static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) throws {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EPIPE {
                exit(self.brokenPipe)
            } else if errno != EINTR {
                throw CommandFailure(.failure, "The output could not be written: \(SystemText.ofErrno()).")
            }
        }
    }

    /// What a shell reports of a program that SIGPIPE ended.
    private static let brokenPipe: Int32 = 141
}
