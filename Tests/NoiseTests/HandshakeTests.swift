import PeerCrypto
import SyncProtocol
import Testing

struct HandshakeTests {
    typealias Greeting = HandshakeFraming.Greeting

    @Test(arguments: Greeting.allCases)
    func `both sides end with the same hash and with each other's static keys`(_ greeting: Greeting) throws {
        var pair = try Pair(greeting)
        let areComplete = (pair.initiator.isComplete, pair.responder.isComplete)
        #expect(areComplete == (false, false))
        for index in 0..<Pair.messageCount(greeting) {
            let turns = (pair.initiator.isOurTurn, pair.responder.isOurTurn)
            #expect(turns == (index.isMultiple(of: 2), !index.isMultiple(of: 2)))
            let message = try pair.write(index)
            let payload = try pair.read(index, message)
            #expect(payload == Pair.payload(index))
        }
        let ends = try Self.finish(pair)
        #expect(ends.hashes.0 == ends.hashes.1)
        #expect(ends.hashes.0.count == 64)
        #expect(ends.statics.0 == (try agreementKey(Pair.responderStatic).publicKey))
        #expect(ends.statics.1 == (try agreementKey(Pair.initiatorStatic).publicKey))
    }

    @Test func `the responder knows who dials after the first message between known peers`() throws {
        var pair = try Pair(.known)
        _ = try pair.exchange(upTo: 1)
        let known = pair.responder.remoteStatic
        #expect(known == (try agreementKey(Pair.initiatorStatic).publicKey))
    }

    @Test(arguments: Greeting.allCases)
    func `a changed bit in any byte of any message ends the handshake`(_ greeting: Greeting) throws {
        for index in 0..<Pair.messageCount(greeting) {
            var pair = try Pair(greeting)
            let byteCount = try pair.exchange(upTo: index + 1)[index].count
            for offset in 0..<byteCount {
                let failure = try Pair.failure(greeting, message: index) { message in
                    var changed = message
                    changed[offset] ^= 1 << (offset % 8)
                    return changed
                }
                #expect(failure != nil, "message \(index), byte \(offset)")
            }
        }
    }

    @Test(arguments: Greeting.allCases)
    func `a message cut anywhere, or with bytes after it, ends the handshake`(_ greeting: Greeting) throws {
        for index in 0..<Pair.messageCount(greeting) {
            var pair = try Pair(greeting)
            let byteCount = try pair.exchange(upTo: index + 1)[index].count
            for count in 0..<byteCount {
                let failure = try Pair.failure(greeting, message: index) { Array($0.prefix(count)) }
                #expect(failure == .truncated || failure == .badTag, "message \(index), \(count) bytes")
            }
            #expect(try Pair.failure(greeting, message: index) { $0 + [0] } == .badTag)
            let tooLong = [UInt8](repeating: 0, count: NoiseHandshake.messageByteCountMax + 1)
            #expect(try Pair.failure(greeting, message: index) { _ in tooLong } == .tooLong)
        }
    }

    @Test(arguments: Greeting.allCases)
    func `a message repeated in place of a later one ends the handshake`(_ greeting: Greeting) throws {
        for index in 1..<Pair.messageCount(greeting) {
            var pair = try Pair(greeting)
            let earlier = try pair.exchange(upTo: index)
            for message in earlier {
                let failure = try Pair.failure(greeting, message: index) { _ in message }
                #expect(failure == .badTag || failure == .truncated || failure == .weakPublicKey)
            }
        }
    }

    @Test(arguments: Greeting.allCases)
    func `a different prologue ends the handshake at the first message`(_ greeting: Greeting) throws {
        let other: Greeting = greeting == .known ? .pairing : .known
        var pair = try Pair(greeting, Pair.Options(initiatorPrologue: other.bytes))
        let message = try pair.write(0)
        let failure = pair.failure(reading: message, as: 0)
        #expect(failure == .badTag)
    }

    @Test func `someone with another secret gets no answer`() throws {
        var pair = try Pair(.pairing, Pair.Options(initiatorSecret: 0x34))
        let message = try pair.write(0)
        let failure = pair.failure(reading: message, as: 0)
        #expect(failure == .badTag)
    }

    @Test func `someone who dials with another responder's key gets no answer`() throws {
        var pair = try Pair(.known, Pair.Options(dialledStatic: 0x23))
        let message = try pair.write(0)
        let failure = pair.failure(reading: message, as: 0)
        #expect(failure == .badTag)
    }

    @Test func `of several secrets the one in use is found`() throws {
        let secrets = [UInt8](0x30..<0x38)
        for (index, secret) in secrets.enumerated() {
            var pair = try Pair(.pairing, Pair.Options(initiatorSecret: secret, responderSecrets: secrets))
            _ = try pair.exchange(upTo: 3)
            let found = pair.responder.presharedKeyIndex
            #expect(found == index)
            let ends = try Self.finish(pair)
            #expect(ends.hashes.0 == ends.hashes.1)
        }
        var pair = try Pair(.pairing, Pair.Options(initiatorSecret: 0x40, responderSecrets: secrets))
        let message = try pair.write(0)
        let failure = pair.failure(reading: message, as: 0)
        #expect(failure == .badTag)
    }

    @Test func `keys that do not fit the pattern are refused`() throws {
        func isRefused(
            _ greeting: Greeting,
            _ role: NoiseRole,
            staticKey: UInt8?,
            remote: UInt8?,
            secretCount: Int
        ) throws -> Bool {
            var secrets = PresharedKeys()
            for _ in 0..<secretCount { _ = secrets.append(presharedKey(1)) }
            do {
                _ = try NoiseHandshake(
                    pattern: greeting.pattern,
                    role: role,
                    prologue: [],
                    ephemeralKey: agreementKey(1),
                    staticKey: optionalAgreementKey(hex: staticKey.map { String(repeating: "0\($0)", count: 32) }),
                    remoteStatic: remote.map { try agreementKey($0).publicKey },
                    presharedKeys: secrets
                )
                return false
            } catch {
                return error as? NoiseError == .unfitKeys
            }
        }
        #expect(try !isRefused(.known, .initiator, staticKey: 1, remote: 2, secretCount: 0))
        #expect(try isRefused(.known, .initiator, staticKey: nil, remote: 2, secretCount: 0))
        #expect(try isRefused(.known, .initiator, staticKey: 1, remote: nil, secretCount: 0))
        #expect(try isRefused(.known, .initiator, staticKey: 1, remote: 2, secretCount: 1))
        #expect(try isRefused(.known, .responder, staticKey: 1, remote: 2, secretCount: 0))
        #expect(try !isRefused(.pairing, .initiator, staticKey: 1, remote: nil, secretCount: 1))
        #expect(try isRefused(.pairing, .initiator, staticKey: 1, remote: nil, secretCount: 0))
        #expect(try isRefused(.pairing, .initiator, staticKey: 1, remote: nil, secretCount: 2))
        #expect(try isRefused(.pairing, .responder, staticKey: 1, remote: nil, secretCount: 0))
        #expect(try !isRefused(.pairing, .responder, staticKey: 1, remote: nil, secretCount: 64))
        #expect(try isRefused(.pairing, .responder, staticKey: 1, remote: nil, secretCount: 65))
        var secrets = PresharedKeys()
        let isAdded = secrets.append(SecretBytes([UInt8](repeating: 0, count: 31)))
        #expect(!isAdded)
    }

    @Test func `reading or writing out of turn ends the handshake`() throws {
        var pair = try Pair(.known)
        let early = pair.failure(reading: [1, 2, 3], as: 1)
        #expect(early == .outOfTurn)
        #expect(throws: NoiseError.dead) { try pair.write(0) }

        var finished = try Pair(.known)
        let messages = try finished.exchange(upTo: 2)
        let late = finished.failure(reading: messages[0], as: 0)
        #expect(late == .outOfTurn)
    }

    @Test func `an unfinished or dead handshake leads to no session`() throws {
        #expect(throws: NoiseError.incomplete) {
            let pair = try Pair(.known)
            _ = try pair.takeInitiator().finish()
        }
        #expect(throws: NoiseError.dead) {
            var pair = try Pair(.known)
            _ = pair.failure(reading: [], as: 1)
            _ = try pair.takeInitiator().finish()
        }
    }

    @Test func `a public key of small order ends the handshake`() throws {
        // The secret of an invite lets its holder choose the fresh key: zeros, which any agreement makes zeros of.
        let failure = try Pair.failure(.pairing, message: 1) { [UInt8](repeating: 0, count: 32) + $0.dropFirst(32) }
        #expect(failure == .weakPublicKey)
    }

    private static func finish(
        _ pair: consuming Pair
    ) throws -> (hashes: ([UInt8], [UInt8]), statics: (X25519.PublicKey?, X25519.PublicKey?)) {
        let sessions = try pair.finish()
        return (
            (sessions.initiator.handshakeHash, sessions.responder.handshakeHash),
            (sessions.initiator.remoteStatic, sessions.responder.remoteStatic)
        )
    }
}
