import PeerCrypto
import SyncProtocol

/// Two sides of one handshake, with the same keys each time.
struct Pair: ~Copyable {
    var initiator: NoiseHandshake
    var responder: NoiseHandshake

    static let initiatorStatic: UInt8 = 0x11
    static let responderStatic: UInt8 = 0x22
    static let secret: UInt8 = 0x33

    /// What may differ from the two sides being in agreement.
    struct Options {
        var initiatorPrologue: [UInt8]?
        var responderPrologue: [UInt8]?
        var initiatorSecret = Pair.secret
        var responderSecrets = [Pair.secret]
        var dialledStatic = Pair.responderStatic
    }

    init(_ greeting: HandshakeFraming.Greeting, _ options: Options = Options()) throws {
        let hasSecret = greeting != .known
        var candidates = PresharedKeys()
        if hasSecret {
            for secret in options.responderSecrets { _ = candidates.append(presharedKey(secret)) }
        }
        let initiator = try NoiseHandshake(
            pattern: greeting.pattern,
            role: .initiator,
            prologue: options.initiatorPrologue ?? greeting.bytes,
            ephemeralKey: agreementKey(0xe1),
            staticKey: agreementKey(Self.initiatorStatic),
            remoteStatic: hasSecret ? nil : agreementKey(options.dialledStatic).publicKey,
            presharedKeys: hasSecret ? PresharedKeys(presharedKey(options.initiatorSecret)) : PresharedKeys()
        )
        let responder = try NoiseHandshake(
            pattern: greeting.pattern,
            role: .responder,
            prologue: options.responderPrologue ?? greeting.bytes,
            ephemeralKey: agreementKey(0xe2),
            staticKey: agreementKey(Self.responderStatic),
            presharedKeys: candidates
        )
        self.initiator = initiator
        self.responder = responder
    }
}

extension Pair {
    /// The number of messages of a greeting's handshake.
    static func messageCount(_ greeting: HandshakeFraming.Greeting) -> Int {
        greeting.pattern.messages.count
    }

    /// The payload that a message carries in these tests.
    static func payload(_ index: Int) -> [UInt8] {
        Array("payload \(index)".utf8)
    }

    /// Writes the message with this number on the side whose turn it is.
    mutating func write(_ index: Int) throws(NoiseError) -> [UInt8] {
        index.isMultiple(of: 2)
            ? try self.initiator.writeMessage(Self.payload(index))
            : try self.responder.writeMessage(Self.payload(index))
    }

    /// Reads the message with this number on the other side.
    mutating func read(_ index: Int, _ message: [UInt8]) throws(NoiseError) -> [UInt8] {
        index.isMultiple(of: 2) ? try self.responder.readMessage(message) : try self.initiator.readMessage(message)
    }

    /// Exchanges the messages before this number, and returns them.
    mutating func exchange(upTo end: Int) throws(NoiseError) -> [[UInt8]] {
        var messages: [[UInt8]] = []
        for index in 0..<end {
            messages.append(try self.write(index))
            _ = try self.read(index, messages[index])
        }
        return messages
    }

    /// What reading this message on the side whose turn it is fails with; nil if it does not fail.
    mutating func failure(reading message: [UInt8], as index: Int) -> NoiseError? {
        do throws(NoiseError) {
            _ = try self.read(index, message)
            return nil
        } catch {
            return error
        }
    }

    /// The message that would have been written with this number, and how reading it with a change ends.
    static func failure(
        _ greeting: HandshakeFraming.Greeting,
        message index: Int,
        changedBy change: ([UInt8]) -> [UInt8]
    ) throws -> NoiseError? {
        var pair = try Pair(greeting)
        _ = try pair.exchange(upTo: index)
        let message = try pair.write(index)
        let failure = pair.failure(reading: change(message), as: index)
        // Whatever was wrong, the handshake does not go on, even with the right message.
        guard failure == nil || pair.failure(reading: message, as: index) == .dead else { return nil }
        return failure
    }
}

extension Pair {
    /// The two sessions of a finished handshake.
    struct Sessions: ~Copyable {
        var initiator: NoiseSession
        var responder: NoiseSession
    }

    consuming func finish() throws(NoiseError) -> Sessions {
        Sessions(initiator: try self.initiator.finish(), responder: try self.responder.finish())
    }

    consuming func takeInitiator() -> NoiseHandshake {
        self.initiator
    }
}
