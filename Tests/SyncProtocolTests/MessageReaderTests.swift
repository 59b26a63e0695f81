import CRDTCore
import Testing

@testable import SyncProtocol

@Suite struct MessageReaderTests {
    @Test func `one byte at a time it reads the same as all at once`() throws {
        let messages = try SampleMessages.all()
        let bytes = messages.flatMap { $0.encoded() }
        for pieceByteCount in [1, 2, 3, 7, 64, 1000, bytes.count] {
            #expect(try SampleMessages.read(bytes, pieceByteCount: pieceByteCount) == messages, "\(pieceByteCount)")
        }
    }

    @Test func `it tells how many bytes each message took`() throws {
        var reader = MessageReader()
        let messages = try SampleMessages.all()
        reader.append(messages.flatMap { $0.encoded() })
        for message in messages {
            let received = try #require(try reader.next())
            #expect(received.byteCount == message.encoded().count)
        }
        #expect(try reader.next() == nil)
    }

    @Test func `a length beyond the limit of its kind is refused before its bytes are awaited`() {
        for kind in MessageKind.allCases {
            var bytes = [kind.rawValue]
            bytes.appendVarint(UInt64(MessageLimits.byteCountMax(of: kind)) + 1)
            #expect(throws: WireError.overLimit, "\(kind)") { try SampleMessages.read(bytes) }
        }
    }

    @Test func `a length that is longer than any limit is refused at its fifth byte`() {
        for kind in MessageKind.allCases {
            #expect(throws: WireError.self, "\(kind)") {
                try SampleMessages.read([kind.rawValue, 0xff, 0xff, 0xff, 0xff, 0xff])
            }
        }
    }

    @Test func `an unknown kind is refused at its first byte`() {
        for byte in UInt8.min...UInt8.max where MessageKind(rawValue: byte) == nil {
            #expect(throws: WireError.unknownKind) { try SampleMessages.read([byte]) }
        }
    }

    @Test func `what was read is not kept`() throws {
        // A reader that kept everything would be at several gigabytes, and take minutes to move them.
        var reader = MessageReader()
        let ping = Message.ping(WallTime(milliseconds: .max)).encoded()
        let batch = Array(repeatElement(ping, count: 1000).joined())
        var count = 0
        for _ in 0..<500 {
            reader.append(batch + ping.prefix(4))
            while try reader.next() != nil { count += 1 }
            reader.append(ping.dropFirst(4))
            while try reader.next() != nil { count += 1 }
        }
        #expect(count == 500 * 1001)
        #expect(reader.keptByteCount <= 512 << 10)
    }
}

extension MessageReader {
    /// The bytes that the reader's buffer holds.
    fileprivate var keptByteCount: Int {
        Mirror(reflecting: self).children.reduce(0) { sum, child in
            sum + ((child.value as? [UInt8])?.count ?? 0)
        }
    }
}
