import Foundation
import PeerCrypto
import SyncProtocol
import Testing

/// The file that holds published vectors, if this machine has it.
private let vectorFile = ProcessInfo.processInfo.environment["PEERD_TEST_VECTORS"].map {
    URL(fileURLWithPath: $0).appendingPathComponent("noise-vectors.json")
}

private struct VectorFile: Decodable {
    struct Vector: Decodable {
        struct Message: Decodable {
            var payload: String
            var ciphertext: String
        }

        var protocol_name: String
        var source: String
        var init_prologue: String
        var init_ephemeral: String
        var init_static: String?
        var init_remote_static: String?
        var init_psks: [String]?
        var resp_prologue: String
        var resp_ephemeral: String
        var resp_static: String?
        var resp_remote_static: String?
        var resp_psks: [String]?
        var handshake_hash: String?
        var messages: [Message]
    }

    var vectors: [Vector]
}

@Suite(.enabled(if: vectorFile != nil, "PEERD_TEST_VECTORS names no directory of vectors"))
struct VectorTests {
    @Test func `all published vectors with our hash, cipher and curve are met, by both sides`() throws {
        let file = try JSONDecoder().decode(VectorFile.self, from: Data(contentsOf: #require(vectorFile)))
        let vectors = file.vectors.filter { $0.protocol_name.hasSuffix("_25519_ChaChaPoly_SHA512") }
        #expect(!vectors.isEmpty)
        for vector in vectors {
            let pattern = NoisePattern.ofVectors.first { $0.protocolName == vector.protocol_name }
            try Self.run(vector, #require(pattern, "\(vector.protocol_name) is not described"))
        }
        let inProduction = Set([NoisePattern.ik, .xxPsk0Psk3].map(\.protocolName))
        #expect(inProduction.isSubset(of: vectors.map(\.protocol_name)))
    }

    private static func run(_ vector: VectorFile.Vector, _ pattern: NoisePattern) throws {
        let name = "\(vector.protocol_name) from \(vector.source)"
        var initiator = try NoiseHandshake(
            pattern: pattern,
            role: .initiator,
            prologue: bytes(hex: vector.init_prologue),
            ephemeralKey: agreementKey(hex: vector.init_ephemeral),
            staticKey: optionalAgreementKey(hex: vector.init_static),
            remoteStatic: vector.init_remote_static.flatMap { X25519.PublicKey(bytes(hex: $0)) },
            presharedKeys: Self.presharedKeys(vector.init_psks)
        )
        var responder = try NoiseHandshake(
            pattern: pattern,
            role: .responder,
            prologue: bytes(hex: vector.resp_prologue),
            ephemeralKey: agreementKey(hex: vector.resp_ephemeral),
            staticKey: optionalAgreementKey(hex: vector.resp_static),
            remoteStatic: vector.resp_remote_static.flatMap { X25519.PublicKey(bytes(hex: $0)) },
            presharedKeys: Self.presharedKeys(vector.resp_psks)
        )
        let handshakeCount = pattern.messages.count
        for (index, message) in vector.messages.prefix(handshakeCount).enumerated() {
            let payload = bytes(hex: message.payload)
            let written: [UInt8]
            let read: [UInt8]
            if index.isMultiple(of: 2) {
                written = try initiator.writeMessage(payload)
                read = try responder.readMessage(written)
            } else {
                written = try responder.writeMessage(payload)
                read = try initiator.readMessage(written)
            }
            #expect(written == bytes(hex: message.ciphertext), "\(name), message \(index)")
            #expect(read == payload, "\(name), message \(index)")
        }
        var atInitiator = try initiator.finish()
        var atResponder = try responder.finish()
        let hashes = [atInitiator.handshakeHash, atResponder.handshakeHash]
        #expect(hashes[0] == hashes[1], "\(name)")
        if let expected = vector.handshake_hash { #expect(hashes[0] == bytes(hex: expected), "\(name)") }

        for (index, message) in vector.messages.enumerated().dropFirst(handshakeCount) {
            let isFromInitiator = index.isMultiple(of: 2)
            let carried =
                isFromInitiator
                ? try Self.carry(bytes(hex: message.payload), from: &atInitiator.sending, to: &atResponder.receiving)
                : try Self.carry(bytes(hex: message.payload), from: &atResponder.sending, to: &atInitiator.receiving)
            #expect(carried.sealed == bytes(hex: message.ciphertext), "\(name), message \(index)")
            #expect(carried.opened == bytes(hex: message.payload), "\(name), message \(index)")
        }
    }

    private static func carry(
        _ payload: [UInt8],
        from sending: inout NoiseCipherState,
        to receiving: inout NoiseCipherState
    ) throws -> (sealed: [UInt8], opened: [UInt8]) {
        var sealed = payload
        try sending.sealInPlace(&sealed, from: 0, authenticating: RawSpan())
        var opened: [UInt8] = []
        try receiving.open(sealed.span.bytes, appendingTo: &opened, authenticating: RawSpan())
        return (sealed, opened)
    }

    private static func presharedKeys(_ keys: [String]?) -> PresharedKeys {
        guard let keys, !keys.isEmpty else { return PresharedKeys() }
        var presharedKeys = PresharedKeys(slotCount: keys.count)
        let isAdded = presharedKeys.append(SecretBytes(bytes(hex: keys.joined())))
        #expect(isAdded)
        return presharedKeys
    }
}
