internal import Foundation

/// The language of the socket: one JSON value a line, each side's lines no longer than its limit.
enum ControlCodec {
    /// A batch of an import is the largest request.
    static let requestByteCountMax = 32 << 20
    static let replyByteCountMax = 1 << 20

    static func line(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        return Array(try encoder.encode(value)) + [UInt8(ascii: "\n")]
    }

    static func value<Value: Decodable>(_ type: Value.Type, from line: some Sequence<UInt8>) throws -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(line))
        } catch {
            throw ControlError.notUnderstood
        }
    }

    /// Output as a reply: text if it is, since that is shorter than base64.
    static func reply(output: ArraySlice<UInt8>) -> Reply {
        if let text = String(validating: output, as: UTF8.self) { return .text(text) }
        return .bytes(Data(output).base64EncodedString())
    }
}

/// Cuts what arrives into lines; never holds more than one line and what came with it.
struct LineReader: Sendable {
    private var buffer: [UInt8] = []
    private var searched = 0
    let byteCountMax: Int

    init(byteCountMax: Int) {
        self.byteCountMax = byteCountMax
    }

    mutating func append(_ bytes: some Sequence<UInt8>) {
        self.buffer.append(contentsOf: bytes)
    }

    /// The next line without its end; nil until it is complete.
    mutating func next() throws -> [UInt8]? {
        guard let end = self.buffer[self.searched...].firstIndex(of: UInt8(ascii: "\n")) else {
            self.searched = self.buffer.count
            guard self.buffer.count <= self.byteCountMax else { throw ControlError.tooLong }
            return nil
        }
        guard end <= self.byteCountMax else { throw ControlError.tooLong }
        let line = Array(self.buffer[..<end])
        self.buffer.removeFirst(end + 1)
        self.searched = 0
        return line
    }
}

/// Why two processes did not understand each other over the socket.
enum ControlError: Error, Hashable {
    case notUnderstood
    case tooLong
    case closed
    case failed(String)
}
