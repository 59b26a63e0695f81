internal import CRDTCore
internal import SyncProtocol

/// Decodes the small records that travel inside others.
///
/// The first byte says which.
enum RecordExercise {
    static func seeds() -> [[UInt8]] {
        var introduction: [UInt8] = [1]
        Samples.introduction.encode(to: &introduction)
        var restamp: [UInt8] = [2]
        Restamp(replica: Samples.replica, firstSequence: 5, lastSequence: 300, lastHash: Samples.hash)
            .encode(to: &restamp)
        let creation = Edit.create(ObjectID(bytes: Samples.nonce), type: "note", kind: "k").payload
        return [introduction, restamp, [3] + creation] + Samples.statements.map { [4] + Edit.rights($0).payload }
    }

    static func complaint(_ input: [UInt8]) -> String? {
        guard let selector = input.first else { return nil }
        let bytes = Array(input.dropFirst())
        switch selector {
        case 1:
            guard let introduction = try? Introduction(decoding: bytes[...]) else { return nil }
            _ = introduction.isCertified(in: Samples.workspace, PermissiveCryptography())
            _ = introduction.replica(PermissiveCryptography())
            var encoded: [UInt8] = []
            introduction.encode(to: &encoded)
            return encoded == bytes ? nil : "an introduction with two encodings"
        case 2:
            guard let restamp = try? Restamp(decoding: bytes[...]) else { return nil }
            var encoded: [UInt8] = []
            restamp.encode(to: &encoded)
            return encoded == bytes ? nil : "a restamp with two encodings"
        case 4:
            guard let statement = try? RightsStatement(decoding: bytes[...]) else { return nil }
            return Edit.rights(statement).payload == bytes ? nil : "a statement with two encodings"
        default:
            guard let body = try? CreationBody(decoding: bytes[...]) else { return nil }
            let edit = Edit.create(ObjectID(bytes: Samples.nonce), type: body.type, kind: body.kind)
            return edit.payload == bytes ? nil : "a creation with two encodings"
        }
    }
}
