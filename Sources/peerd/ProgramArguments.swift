internal import CProgramMemory
internal import Foundation

/// The words of the command line behind the name of the program.
enum ProgramArguments {
    /// Reads them as they were given.
    static func read() throws(CommandFailure) -> [String] {
        let count = peerd_argument_count()
        guard count > 0 else {
            throw CommandFailure(.usage, "The arguments cannot be read; start the program without preloaded libraries.")
        }
        var words: [String] = []
        for index in 1..<max(1, count) {
            guard let argument = peerd_argument(index) else { break }
            words.append(try self.text(Array(UnsafeBufferPointer(start: argument, count: strlen(argument)))))
        }
        return words
    }

    /// The text that bytes are; others would be replaced on the way.
    static func text(_ bytes: [CChar]) throws(CommandFailure) -> String {
        let bytes = bytes.map { UInt8(bitPattern: $0) }
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        let shown = String(decoding: bytes.prefix(60), as: UTF8.self)
        throw CommandFailure(
            .usage,
            """
            The argument "\(shown)" is not UTF-8, so it is no text. Convert it, or give bytes that are no text as \
            NAME='{"$bytes":"hexadecimal digits"}'.
            """
        )
    }
}
