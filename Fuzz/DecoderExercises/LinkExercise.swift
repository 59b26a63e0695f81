internal import CRDTCore
internal import PeerCrypto
internal import SyncProtocol

/// Gives a link what a stranger, or a peer after a handshake, may send.
///
/// The first byte says which, the second is the length of the pieces it comes in.
enum LinkExercise {
    static func seeds() -> [[UInt8]] {
        guard var noise = Handshakes.dialling(), let first = try? noise.writeMessage([]) else { return [] }
        // A first message of the right length, but for another: it must not be answered.
        var spoiled = HandshakeFraming.framed(first) ?? []
        spoiled[spoiled.count - 1] ^= 1
        let known = HandshakeFraming.Greeting.known.bytes
        let pairing = HandshakeFraming.Greeting.pairing.bytes
        var seeds: [[UInt8]] = Samples.messages.map { [2, 100] + $0.encoded() }
        seeds.append([0, 7] + known + spoiled)
        seeds.append([1, 255] + pairing + spoiled)
        seeds.append([1, 1] + pairing + [0, 48] + Array(spoiled.prefix(48)))
        seeds.append([3, 20] + spoiled)
        return seeds
    }

    static func complaint(_ input: [UInt8]) -> String? {
        guard input.count >= 2 else { return nil }
        let bytes = Array(input[2...])
        let pieceByteCount = 1 + Int(input[1])
        switch input[0] {
        case 0, 1: return self.strangerComplaint(bytes, pieceByteCount, hasInvites: input[0] == 1)
        case 2: return self.peerComplaint(bytes, pieceByteCount)
        default: return self.answerComplaint(bytes, pieceByteCount)
        }
    }

    private struct Authority: LinkAuthority {
        var hasInvites = false

        func membershipSecrets() -> PresharedKeys {
            guard self.hasInvites else { return PresharedKeys() }
            return PresharedKeys(SecretBytes([UInt8](repeating: 7, count: PresharedKeys.keyByteCount)))
        }

        func admits(_ key: StaticKey) -> Bool { key == Handshakes.dialler.staticKey }

        func inviteSecrets() -> PresharedKeys {
            var secrets = PresharedKeys()
            guard self.hasInvites else { return secrets }
            for secret in [UInt8(8), 9] {
                _ = secrets.append(SecretBytes([UInt8](repeating: secret, count: PresharedKeys.keyByteCount)))
            }
            return secrets
        }
    }

    /// Whoever holds no key gets no answer and causes nothing but an end.
    private static func strangerComplaint(_ bytes: [UInt8], _ pieceByteCount: Int, hasInvites: Bool) -> String? {
        var link = PeerLink.answering(ownStatic: Handshakes.answerer.staticKey)
        return self.complaintOfForged(&link, bytes, pieceByteCount, Authority(hasInvites: hasInvites))
    }

    /// Whoever cannot prove the key that was dialled is no peer.
    private static func answerComplaint(_ bytes: [UInt8], _ pieceByteCount: Int) -> String? {
        guard let own = Handshakes.dialler.duplicate, let ephemeral = Handshakes.ephemeral(),
            var start = PeerLink.dialling(Handshakes.answerer.staticKey, own: own, ephemeral: ephemeral)
        else { return "no link" }
        return self.complaintOfForged(&start.link, bytes, pieceByteCount, Authority())
    }

    private static func complaintOfForged(
        _ link: inout PeerLink,
        _ bytes: [UInt8],
        _ pieceByteCount: Int,
        _ authority: Authority
    ) -> String? {
        guard let own = Handshakes.answerer.duplicate else { return "no key" }
        var endCount = 0
        for start in stride(from: 0, to: bytes.count, by: pieceByteCount) {
            let piece = Array(bytes[start..<min(bytes.count, start + pieceByteCount)])
            let output = link.receive(piece, own: own, authority: authority, now: 1) { Handshakes.ephemeral() }
            guard output.bytes.isEmpty, !link.isOpen else { return "a stranger got an answer" }
            for event in output.events {
                guard case .ended = event else { return "a stranger caused an event" }
                endCount += 1
            }
        }
        return endCount <= 1 ? nil : "it ended twice"
    }

    /// After a handshake the messages are those of the stream, and a bad one is the end.
    private static func peerComplaint(_ stream: [UInt8], _ pieceByteCount: Int) -> String? {
        var link = PeerLink.answering(ownStatic: Handshakes.answerer.staticKey)
        guard let own = Handshakes.answerer.duplicate, var noise = Handshakes.dialling(),
            let first = try? noise.writeMessage([]), let framed = HandshakeFraming.framed(first)
        else { return "no handshake" }
        let greeting = HandshakeFraming.Greeting.known.bytes
        let answer = link.receive(greeting + framed, own: own, authority: Authority(), now: 1) {
            Handshakes.ephemeral()
        }
        guard link.isOpen, (try? noise.readMessage(Array(answer.bytes.dropFirst(2)))) != nil,
            var session = try? noise.finish()
        else { return "a peer was refused" }
        var messages: [Message] = []
        var end: PeerLink.LinkEnd?
        for start in stride(from: 0, to: stream.count, by: pieceByteCount) {
            let piece = stream[start..<min(stream.count, start + pieceByteCount)]
            let record = Handshakes.record([0] + piece, &session.sending)
            let output = link.receive(record, own: own, authority: Authority(), now: 1) { nil }
            for event in output.events {
                switch event {
                case .message(let message, _): messages.append(message)
                case .ended(let reason): end = reason
                case .established, .invited: return "established twice"
                }
            }
        }
        let reading = StreamReading(stream, pieceByteCount: max(1, stream.count))
        guard messages == reading.messages.map(\.message) else { return "other messages than in the stream" }
        return (end != nil) == (reading.error != nil) ? nil : "it did not end as the stream does"
    }
}
