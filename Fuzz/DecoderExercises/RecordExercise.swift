internal import CRDTCore
internal import SyncProtocol

/// Decodes the small records that travel inside others.
///
/// The first byte says which.
enum RecordExercise {
    static func seeds() -> [[UInt8]] {
        var introduction: [UInt8] = [1]
        Samples.introduction.encode(to: &introduction)
        var retirement: [UInt8] = [2]
        Retirement(replica: Samples.replica, nonce: Samples.nonce, lastSequence: 300).encode(to: &retirement)
        let creation = Edit.create(ObjectID(bytes: Samples.nonce), type: "note", kind: "k").payload
        let proof = Samples.forkProof
        return [
            [0] + (proof?.encoded ?? []), introduction, retirement, [3] + creation,
            [4] + JoinRequest(device: Samples.device, deviceName: "name").encoded,
            [5] + (proof?.first.headers.first ?? []),
        ]
    }

    static func complaint(_ input: [UInt8]) -> String? {
        guard let selector = input.first else { return nil }
        let bytes = Array(input.dropFirst())
        switch selector {
        case 0:
            guard let proof = try? ForkProof(decoding: bytes) else { return nil }
            _ = proof.disputed(in: Samples.membership, PermissiveCryptography())
            return proof.encoded == bytes ? nil : "a proof with two encodings"
        case 1:
            guard let introduction = try? Introduction(decoding: bytes[...]) else { return nil }
            _ = introduction.isCertified(in: Samples.workspace, PermissiveCryptography())
            _ = introduction.replica(PermissiveCryptography())
            var encoded: [UInt8] = []
            introduction.encode(to: &encoded)
            return encoded == bytes ? nil : "an introduction with two encodings"
        case 2:
            guard let retirement = try? Retirement(decoding: bytes[...]) else { return nil }
            var encoded: [UInt8] = []
            retirement.encode(to: &encoded)
            return encoded == bytes ? nil : "a retirement with two encodings"
        case 3:
            guard let body = try? CreationBody(decoding: bytes[...]) else { return nil }
            let edit = Edit.create(ObjectID(bytes: Samples.nonce), type: body.type, kind: body.kind)
            return edit.payload == bytes ? nil : "a creation with two encodings"
        case 4:
            guard let request = try? JoinRequest(decoding: bytes) else { return nil }
            return request.encoded == bytes ? nil : "a request with two encodings"
        default:
            _ = try? HeaderFields(decoding: bytes)
            return nil
        }
    }
}
