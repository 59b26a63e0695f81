internal import CRDTCore
internal import SyncProtocol

/// Reads messages out of a stream, at once and in pieces.
///
/// The first byte is the length of the pieces.
enum MessageExercise {
    static func seeds() -> [[UInt8]] {
        let each = Samples.messages.map { [3] + $0.encoded() }
        return each + [[200] + Samples.messages.flatMap { $0.encoded() }]
    }

    static func complaint(_ input: [UInt8]) -> String? {
        guard let pieceByteCount = input.first else { return nil }
        let stream = Array(input.dropFirst())
        let whole = StreamReading(stream, pieceByteCount: max(1, stream.count))
        guard StreamReading(stream, pieceByteCount: 1 + Int(pieceByteCount)) == whole else {
            return "read in pieces it is another"
        }
        var offset = 0
        for received in whole.messages {
            let bytes = Array(stream[offset..<offset + received.byteCount])
            offset += received.byteCount
            if let complaint = Self.complaint(received.message, bytes) { return complaint }
        }
        return nil
    }

    private static func complaint(_ message: Message, _ bytes: [UInt8]) -> String? {
        let encoded = message.encoded()
        switch message {
        case .run: break
        case .hello(let hello) where hello.version > Hello.currentVersion: break
        default: guard encoded == bytes else { return "a message with two encodings" }
        }
        let again = StreamReading(encoded, pieceByteCount: encoded.count)
        guard again.messages.map(\.message) == [message], again.error == nil else {
            return "a message that does not come back"
        }
        return nil
    }
}

/// What a reader of messages makes of a stream that comes in pieces.
struct StreamReading: Equatable {
    private(set) var messages: [MessageReader.Received] = []
    private(set) var error: WireError?

    init(_ stream: [UInt8], pieceByteCount: Int) {
        var reader = MessageReader()
        var offset = 0
        do throws(WireError) {
            while offset < stream.count {
                let end = min(stream.count, offset + pieceByteCount)
                reader.append(stream[offset..<end])
                offset = end
                while let received = try reader.next() { self.messages.append(received) }
            }
        } catch {
            self.error = error
        }
    }
}

/// Decompresses what stands where a compressed run is expected.
enum CompressionExercise {
    static func seeds() -> [[UInt8]] {
        [Samples.run, Samples.runWithLeaf].flatMap { run in
            let message = Message.run(run).encoded()
            var reader = ByteReader(message)
            _ = try? reader.byte()
            let body = (try? reader.prefixed(atMost: reader.remaining)).map { Array($0) } ?? []
            return [body, [0] + run.encoded()]
        } + [self.tableOfEmptyNames]
    }

    /// A few hundred bytes that become as many empty names as fit into what may be decompressed.
    private static var tableOfEmptyNames: [UInt8] {
        let nameCount = MessageLimits.decompressedByteCountMax - 64
        var content: [UInt8] = [Run.formatVersion]
        Samples.replica.bytes.append(to: &content)
        content += [1, 0]
        content.appendVarint(UInt64(nameCount))
        content += Array(repeating: 0, count: nameCount)
        var body: [UInt8] = [1]
        body.appendVarint(UInt64(content.count))
        // A Zstandard frame (RFC 8878): a header with the length, one raw block, and run-length blocks of zeros.
        var length = UInt32(content.count)
        body += [0x28, 0xb5, 0x2f, 0xfd, 0xa0]
        for _ in 0..<4 {
            body.append(UInt8(truncatingIfNeeded: length))
            length >>= 8
        }
        let head = content.count - nameCount
        self.appendBlock(kind: 0, count: head, isLast: false, to: &body)
        body += content.prefix(head)
        var left = nameCount
        while left > 0 {
            let count = min(left, 128 << 10)
            left -= count
            self.appendBlock(kind: 1, count: count, isLast: left == 0, to: &body)
            body.append(0)
        }
        return body
    }

    private static func appendBlock(kind: Int, count: Int, isLast: Bool, to body: inout [UInt8]) {
        let header = count << 3 | kind << 1 | (isLast ? 1 : 0)
        for shift in [0, 8, 16] { body.append(UInt8(truncatingIfNeeded: header >> shift)) }
    }

    static func complaint(_ input: [UInt8]) -> String? {
        // The kind of a run, which the samples all begin with.
        var stream: [UInt8] = [Message.run(Samples.runWithLeaf).encoded()[0]]
        stream.appendPrefixed(input)
        let reading = StreamReading(stream, pieceByteCount: stream.count)
        guard reading.messages.count == 1 else { return reading.error == nil ? "neither a run nor an error" : nil }
        guard case .run(let run) = reading.messages[0].message else { return "a run became something else" }
        return RunExercise.complaint(run.encoded())
    }
}
