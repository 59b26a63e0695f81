import CRDTCore
import PeerCrypto
import SyncProtocol

@testable import SyncProtocol

/// Messages of every kind, and the limits of their lists.
enum SampleMessages {
    static let hash = Hash256(bytes: Bytes32(9, 8, 7, 6))
    static let replica = ReplicaID(bytes: Bytes16(high: 3, low: 4))
    static let user = UserID(bytes: Bytes32(5, 0, 0, 1))
    static let device = DeviceID(bytes: Bytes32(6, 0, 0, 1))

    static let blob = BlobRoot(bytes: Bytes32(4, 3, 2, 1))

    static func proof(leafCount: Int, siblingCount: Int) -> GroupProof {
        GroupProof(
            leaves: Array(repeating: self.hash, count: leafCount),
            siblings: Array(repeating: .zero, count: siblingCount)
        )
    }

    static func replica(_ number: Int) -> ReplicaID { ReplicaID(bytes: Bytes16(high: UInt64(number), low: 0)) }

    static let anySignature = Signature(first: Bytes32(3, 3, 3, 3), second: Bytes32(3, 3, 3, 3))

    static func certificate() throws -> DeviceCertificate {
        DeviceCertificate(
            generation: DeviceCertificate.firstGeneration,
            device: self.device,
            staticKey: StaticKey(bytes: Bytes32(1, 2, 3, 4)),
            signature: self.anySignature
        )
    }

    static func hello(version: UInt64 = Hello.currentVersion) -> Hello {
        Hello(
            version: version,
            deviceStart: self.device.start,
            instance: .max,
            wallTime: WallTime(milliseconds: .max),
            port: .max,
            fingerprint: self.hash,
            proof: self.anySignature
        )
    }

    static func joinRequest(name: String = "name") -> JoinRequest {
        JoinRequest(device: self.device, deviceName: name, proof: self.anySignature)
    }

    static func welcome(certificateCount: Int = 1) throws -> Welcome {
        let certificate = try self.certificate()
        return Welcome(
            founder: self.user,
            workspaceNonce: Bytes16(high: 1, low: 2),
            user: self.user,
            membershipKey: Bytes32(9, 8, 7, 6),
            inviter: self.device,
            certificates: Array(repeating: certificate, count: certificateCount)
        )
    }

    /// A run with an operation of a kind that this version does not know.
    static func run() throws -> Run {
        var builder = RunBuilder(replica: self.replica, firstSequence: 7)
        builder.beginChange(
            stamp: Stamp(rawValue: 1 << 40),
            context: [Point(replica: self.replica(1), sequence: 5, name: ChangeName(rawValue: 6))],
            blinding: Array(0..<16)
        )
        let object = ObjectID(bytes: Bytes16(high: 1, low: 1))
        builder.append(.set(object, name: "title", value: .string(String(repeating: "text ", count: 40))))
        builder.append(.unknown(kind: 231, body: [1, 2, 3]))
        return builder.signed(self.anySignature)
    }

    static func entry(_ number: Int) -> FrontierEntry {
        FrontierEntry(replica: self.replica(number), sequence: UInt64(number), hash: self.hash)
    }

    /// The end of another fork of a chain.
    static func branch(_ number: Int, sequence: UInt64) -> FrontierEntry {
        FrontierEntry(replica: self.replica(number), sequence: sequence, hash: .zero)
    }

    static func probe(pointCount: Int) -> Message {
        let points = (0..<pointCount).map { ChainPoint(sequence: UInt64($0) + 1, hash: self.hash) }
        return .probe(ChainProbe(replica: self.replica, points: points))
    }

    static var sums: Message {
        let sums = (0..<SettledDigest.groupCount).map { UInt64($0) << 40 }
        return .sums(StateSums(frontier: self.hash, sums: sums))
    }

    static var objects: Message {
        let objects = (1...3).map { ObjectDigest(id: ObjectID(bytes: Bytes16(high: 7, low: $0)), digest: $0) }
        return .objects(StateObjects(frontier: self.hash, groups: [0, 9, 1023], objects: objects))
    }

    static func ranges() -> [FrontierRange] {
        [
            FrontierRange(end: self.replica(1), claim: .fingerprint(self.hash)),
            FrontierRange(
                end: self.replica(10),
                claim: .entries([self.entry(1), self.entry(9), self.branch(9, sequence: 10)])
            ),
            FrontierRange(end: self.replica(20), claim: .skip),
            FrontierRange(end: self.replica(30), claim: .equal),
            FrontierRange(end: nil, claim: .answer([])),
        ]
    }

    /// Asks for so many changes, late in their chains.
    static func wanted(changeCount: Int) -> Message {
        let first = Limits.sequenceMax - UInt64(changeCount)
        return .wanted(
            (0..<changeCount).map { number in
                // As many ranges as there may be, and as far apart.
                let places = (0..<UInt32(number % MessageLimits.wantedRangeCountMax + 1)).map { $0 * 4_095 }
                return WantedContent(
                    change: self.branch(1, sequence: first + UInt64(number)),
                    places: OperationRanges(places)
                )
            }
        )
    }

    /// Messages, sealed to two devices, of which one has the key of a seed.
    static func parcel(_ messages: [[UInt8]]) throws -> (parcel: Parcel, device: DeviceID, seed: UInt8) {
        let (key, other) = (try Self.publicKey(1), try Self.publicKey(2))
        guard var entropy = EntropyStream(seed: SecretBytes([UInt8](3...34))) else { throw NoKey() }
        let device = DeviceID(bytes: Bytes32(7, 7, 7, 7))
        let parcel = Parcel.sealing(
            messages,
            for: [(DeviceID(bytes: Bytes32(6, 6, 6, 6)), other), (device, key)],
            from: DeviceID(bytes: Bytes32(5, 5, 5, 5)),
            at: WallTime(milliseconds: 1_700_000_000_000),
            entropy: &entropy
        )
        guard let parcel else { throw NoKey() }
        return (parcel, device, 1)
    }

    private struct NoKey: Error {}

    /// A key agreement key by a small number.
    static func agreementKey(_ first: UInt8) throws -> AgreementKey {
        guard let key = AgreementKey(seed: SecretBytes((0..<32).map { first + $0 })) else { throw NoKey() }
        return key
    }

    private static func publicKey(_ first: UInt8) throws -> StaticKey {
        StaticKey(bytes: try Self.agreementKey(first).publicKey.bytes32)
    }

    /// At least one of each kind.
    static func all() throws -> [Message] {
        var withoutTime = self.hello()
        withoutTime.wallTime = nil
        let introduction = Introduction(
            user: self.user,
            deviceName: "device",
            nonce: Bytes16(high: 3, low: 4),
            certificates: [try self.certificate()]
        )
        var continuing = try self.run()
        continuing.previous = ChangeName(rawValue: 7)
        let unheld = FrontierEntry(replica: self.replica, sequence: 0, hash: .zero)
        return [
            .hello(self.hello()), .hello(withoutTime), .welcome(try self.welcome()), .ranges(self.ranges()),
            .ranges([]), .run(try self.run()), .run(continuing), .caughtUp, .stored([self.entry(300), unheld]),
            .stored([]), .credit(.max), .eagerness(true), .eagerness(false), self.probe(pointCount: 3),
            .join(self.joinRequest()), .member(introduction), .wanted([]), self.wanted(changeCount: 2), .given,
            .ended([]),
            .ended([
                EndedCircle(.own(of: self.user)),
                EndedCircle(.home, ends: [.init(replica: self.replica, sequence: 300)]),
            ]),
            .parcel(try self.parcel([[1, 2, 3]]).parcel), .parcelTaken(self.hash),
            .blob(.want(BlobWant(number: .max, root: self.blob, group: 1 << 18 - 1, leaves: .max, wantsProof: true))),
            .blob(.proof(.max, self.proof(leafCount: 64, siblingCount: 18))),
            .blob(.proof(0, self.proof(leafCount: 0, siblingCount: 0))),
            .blob(.piece(BlobPiece(want: .max, leaf: 63, bytes: Array(repeating: 7, count: 16 << 10)))),
            .blob(.piece(BlobPiece(want: 0, leaf: 0, bytes: []))),
            .blob(.lacking(.max, leaves: .max, .unreadable)), .blob(.cancel(.max)), .blob(.here(self.blob)),
            .state(StateClaim(frontier: self.hash, root: .zero)), self.sums, self.objects,
            .ping(nil), .ping(WallTime(milliseconds: .max)), .pong(WallTime(milliseconds: 300)),
        ]
    }

    /// A message of a kind with any body.
    static func framed(_ kind: MessageKind, _ body: [UInt8]) -> [UInt8] {
        var bytes = [kind.rawValue]
        bytes.appendPrefixed(body)
        return bytes
    }

    /// A message's bytes after its kind and length.
    static func body(of message: Message) throws -> [UInt8] {
        var reader = ByteReader(message.encoded())
        _ = try reader.byte()
        return Array(try reader.prefixed(atMost: reader.remaining))
    }

    /// What a reader makes of bytes that come in pieces of a length.
    static func read(_ bytes: [UInt8], pieceByteCount: Int = .max) throws(WireError) -> [Message] {
        var reader = MessageReader()
        var messages: [Message] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            reader.append(rest.prefix(pieceByteCount))
            rest = rest.dropFirst(pieceByteCount)
            while let received = try reader.next() { messages.append(received.message) }
        }
        return messages
    }
}
