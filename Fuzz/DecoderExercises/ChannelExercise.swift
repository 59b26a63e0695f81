internal import CRDTCore
internal import PeerCrypto
internal import SyncProtocol

/// Opens records that a script makes: good ones of any plaintext, changed ones, and bytes that are no records.
///
/// The first byte is the length of the pieces they arrive in.
enum ChannelExercise {
    private static let limits = KeyLimits(recordCount: 8, byteCount: 4096, ageMilliseconds: .max)

    static func seeds() -> [[UInt8]] {
        [
            [5, 0, 4, 0, 1, 2, 3, 0, 3, 0, 9, 9, 3, 0, 2, 0, 1, 0, 1, 2],
            [255, 0, 2, 0, 1, 2, 4, 0, 2, 0, 1, 1, 3, 1, 2, 3],
            [1, 0, 1, 0, 0, 1, 9], [9, 0, 2, 1, 1], [9, 0, 1, 2, 0, 2, 0, 7], [40, 4, 255, 4, 255, 3, 4, 200],
            [20] + Array(repeating: [0, 2, 0, 5], count: 10).joined(),
        ]
    }

    static func complaint(_ input: [UInt8]) -> String? {
        guard let pieceByteCount = input.first else { return nil }
        guard var dialling = Handshakes.dialling(), var answering = Handshakes.answering(),
            let first = try? dialling.writeMessage([]), (try? answering.readMessage(first)) != nil,
            let second = try? answering.writeMessage([]), (try? dialling.readMessage(second)) != nil,
            let dialled = try? dialling.finish(), let answered = try? answering.finish()
        else { return "no handshake" }
        var script = Script(session: dialled, limits: self.limits)
        var reader = ByteReader(Array(input.dropFirst()))
        while reader.remaining > 0, (try? script.step(&reader)) != nil {}
        var channel = SealedChannel(answered, receivingLimits: self.limits)
        var stream: [UInt8] = []
        var end: SealedChannel.End?
        let bytes = script.bytes
        for start in stride(from: 0, to: bytes.count, by: 1 + Int(pieceByteCount)) {
            let piece = Array(bytes[start..<min(bytes.count, start + 1 + Int(pieceByteCount))])
            let opened = channel.open(piece, now: 5)
            if case .violation = end, opened.end != end { return "a violation was forgotten" }
            end = opened.end
            stream += opened.stream
        }
        guard stream == script.expected else { return "another stream than was sealed" }
        return script.accepts(end) ? nil : "it ended otherwise: \(String(describing: end))"
    }

    /// What is sent, and what is to come of it.
    private struct Script: ~Copyable {
        private var session: NoiseSession
        private let limits: KeyLimits
        private(set) var bytes: [UInt8] = []
        private(set) var expected: [UInt8] = []
        private var fate = Fate.open
        private var recordCount: UInt64 = 0
        private var byteCount: UInt64 = 0

        private enum Fate {
            case open
            case closed
            case violated
            /// Bytes that are no record have been sent; more of them may be awaited.
            case garbled
        }

        init(session: consuming NoiseSession, limits: KeyLimits) {
            self.session = session
            self.limits = limits
        }

        func accepts(_ end: SealedChannel.End?) -> Bool {
            switch (self.fate, end) {
            case (.open, .none), (.closed, .closed), (.violated, .violation), (.garbled, .none): true
            case (.garbled, .violation): true
            default: false
            }
        }

        mutating func step(_ reader: inout ByteReader) throws(WireError) {
            let step = try reader.byte()
            let count = Int(try reader.byte())
            switch step % 5 {
            case 0: self.send(Array(try reader.slice(min(count, reader.remaining))))
            case 1:
                let garbage = try reader.slice(min(count, reader.remaining))
                self.bytes += garbage
                if !garbage.isEmpty { self.disturb(as: .garbled) }
            case 2:
                var record = Handshakes.record([0, 1, 2, 3], &self.session.sending)
                record[2 + count % (record.count - 2)] ^= 1 << UInt8(count & 7)
                self.bytes += record
                self.disturb(as: .violated)
            case 3: self.send([1])
            default: self.send([0] + Array(repeating: 7, count: 16 * count))
            }
        }

        /// Whatever comes after a close or a violation changes no more than that.
        private mutating func disturb(as fate: Fate) {
            switch self.fate {
            case .open: self.fate = fate
            case .closed: self.fate = .violated
            case .violated, .garbled: break
            }
        }

        private mutating func send(_ plaintext: [UInt8]) {
            self.bytes += Handshakes.record(plaintext, &self.session.sending)
            guard self.fate == .open else { return self.disturb(as: .violated) }
            switch plaintext.first {
            case 0:
                let isWithin =
                    self.recordCount < self.limits.recordCount
                    && self.byteCount + UInt64(plaintext.count) <= self.limits.byteCount
                guard plaintext.count > 1, isWithin else { return self.disturb(as: .violated) }
                self.recordCount += 1
                self.byteCount += UInt64(plaintext.count)
                self.expected += plaintext.dropFirst()
            case 1 where plaintext.count == 1:
                self.session.sending.rekey()
                self.recordCount = 0
                self.byteCount = 0
            case 2 where plaintext.count == 1: self.fate = .closed
            default: self.disturb(as: .violated)
            }
        }
    }
}
