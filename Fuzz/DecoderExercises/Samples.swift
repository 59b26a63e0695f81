internal import CRDTCore
internal import SyncProtocol

/// Real values that between them use every part of the formats.
enum Samples {
    static let device = DeviceID(bytes: Bytes32(0x1122, 3, 4, 5))
    static let user = UserID(bytes: Bytes32(0x5566, 7, 8, 9))
    static let workspace = WorkspaceID(bytes: Bytes32(0x77, 1, 1, 1))
    static let membership = Membership(workspace: Samples.workspace, founder: Samples.user)
    static let nonce = Bytes16(high: 1, low: 2)
    static let hash = Hash256(bytes: Bytes32(9, 8, 7, 6))
    static let replica = ReplicaID(device: Samples.device, nonce: Samples.nonce, PermissiveCryptography())
    static let other = ReplicaID(bytes: Bytes16(high: 3, low: 3))
    static let another = ReplicaID(bytes: Bytes16(high: 4, low: 4))

    static let anySignature = Signature(first: Bytes32(7, 7, 7, 7), second: Bytes32(7, 7, 7, 7))

    static var signature: Signature? { Signature(Array(repeating: UInt8(7), count: Signature.byteCount)) }

    static var certificates: [DeviceCertificate] {
        let staticKey = StaticKey(bytes: Bytes32(1, 2, 3, 4))
        return Samples.signature.map {
            [DeviceCertificate(generation: 300, device: Samples.device, staticKey: staticKey, signature: $0)]
        } ?? []
    }

    static var introduction: Introduction {
        Introduction(
            user: Samples.user,
            deviceName: "Schreibtisch",
            nonce: Samples.nonce,
            circle: .shared(owner: Samples.user, nonce: Samples.nonce),
            grants: [Samples.statement],
            certificates: Samples.certificates
        )
    }

    static let granting = NamedChange(replica: Samples.other, sequence: 300, hash: Samples.hash)
    static let statement = StatementID(change: Samples.granting, index: 5)

    /// One of each kind, with something in every list.
    static let statements: [RightsStatement] = [
        .grants(.init(to: Samples.user, .manager, despite: [Samples.statement])),
        .grants(.init(to: Samples.user, .writer, names: ["name 1", ""])),
        .removes(.init(of: Samples.user, from: [.manager, .reader], heads: [Samples.granting])),
        .removesDevice(.init(of: Samples.device, keep: [Samples.device], heads: [Samples.granting])),
        .membershipKey(.init(number: 300, key: Bytes32(1, 2, 3, 4))),
    ]

    static let values: [Value] =
        [
            .null, .bool(true), .bool(false), .int(0), .int(-300), .int(.max), .int(.min), .double(1.5), .double(-0.0),
            .double(bits: 0x7ff8_dead_0000_0001), .string("text"), .string("\u{e9}e\u{301}"), .string(""),
            .document(#"{"a":[1,2.5,null,"\n"]}"#), .bytes([0, 255]), .bytes([]),
        ] + [Samples.recording].compactMap { $0.map { .blob($0) } }

    private static let recording = BlobReference(
        root: Samples.blob,
        byteCount: 1 << 40,
        mediaType: "audio/mp4",
        fileName: "take 1.m4a"
    )
    private static let blob = BlobRoot(bytes: Bytes32(4, 3, 2, 1))

    /// Opens a chain and uses every kind of operation.
    static var run: Run {
        let object = ObjectID(bytes: Bytes16(high: 0xaaaa, low: 1))
        let parent = ObjectID(bytes: Bytes16(high: 0xbbbb, low: 2))
        var builder = RunBuilder(replica: Samples.replica, firstSequence: 1)
        builder.beginChange(
            stamp: Stamp(rawValue: 1 << 40),
            context: [Samples.point(Samples.other, 1), Samples.point(Samples.another, 200)],
            blinding: Array(0..<16)
        )
        builder.append(.introduce(Samples.introduction))
        builder.append(.create(object, type: "note", kind: "\u{e9}"))
        for (number, value) in Samples.values.enumerated() {
            builder.append(.set(object, name: "name \(number % 3)", value: value))
        }
        builder.beginChange(stamp: Stamp(rawValue: 1 << 40 + 1), context: [], blinding: Array(16..<32))
        builder.append(.unset(object, name: "name 1"))
        // Names that look alike are two names.
        builder.append(.unset(object, name: "\u{e9}"))
        builder.append(.unset(object, name: "e\u{301}"))
        builder.append(.move(object, Place(parent: parent, position: Position(bytes: Array("a0V".utf8)))))
        builder.append(.move(parent, .initial))
        builder.append(.delete(parent))
        for statement in Samples.statements { builder.append(.rights(statement)) }
        builder.append(.unknown(kind: 200, body: [1, 2, 3]))
        builder.append(
            .restamp(
                Restamp(replica: Samples.other, firstSequence: 7, lastSequence: 300, lastHash: Samples.hash)
            )
        )
        builder.beginChange(
            stamp: Stamp(rawValue: .max),
            context: [Samples.point(Samples.another, Limits.sequenceMax)],
            blinding: Array(32..<48)
        )
        return builder.signed(Samples.signature)
    }

    private static func point(_ replica: ReplicaID, _ sequence: UInt64) -> Point {
        Point(replica: replica, sequence: sequence, name: ChangeName(Samples.hash))
    }

    /// A change in the middle of a chain that has forked before it, with a write redacted.
    static var runWithLeaf: Run {
        let object = ObjectID(bytes: Bytes16(high: 0xaaaa, low: 1))
        var builder = RunBuilder(replica: Samples.replica, firstSequence: 1000)
        builder.beginChange(
            stamp: Stamp(rawValue: 1 << 40),
            context: [],
            blinding: Array(0..<16),
            redaction: .partial
        )
        builder.append(.redacted(object, name: "n", leaf: Samples.hash))
        builder.append(.set(object, name: "n", value: .int(5)))
        var run = builder.signed(Samples.signature)
        run.previous = ChangeName(Samples.hash)
        return run
    }

    /// One message of each kind, at least.
    static var messages: [Message] {
        let entry = FrontierEntry(replica: Samples.other, sequence: 9, hash: Samples.hash)
        let point = ChainPoint(sequence: 4, hash: Samples.hash)
        let hello = Hello(
            deviceStart: Samples.device.start,
            instance: 7,
            wallTime: WallTime(milliseconds: 1_700_000_000_000),
            port: 4646,
            fingerprint: Samples.hash,
            proof: Samples.anySignature
        )
        let request = JoinRequest(device: Samples.device, deviceName: "name", proof: Samples.anySignature)
        let welcome = Welcome(
            founder: Samples.user,
            workspaceNonce: Samples.nonce,
            user: Samples.user,
            membershipKey: .zero,
            inviter: DeviceID(bytes: Bytes32(1, 2, 3, 4)),
            certificates: Samples.certificates
        )
        return [
            .hello(hello), .join(request), .welcome(welcome), .member(Samples.introduction),
            .wanted([WantedContent(change: entry, places: OperationRanges([0, 1, 7]))]), .given,
            .ended([
                EndedCircle(.hidden(by: Samples.user)),
                EndedCircle(.own(of: Samples.user), ends: [.init(replica: Samples.other, sequence: 300)]),
            ]),
            .parcelTaken(Samples.hash),
            .blob(.want(BlobWant(number: 1, root: Samples.blob, group: 300, leaves: 5, wantsProof: true))),
            .blob(.proof(1, GroupProof(leaves: [Samples.hash, .zero], siblings: [.zero]))),
            .blob(.piece(BlobPiece(want: 1, leaf: 63, bytes: [1, 2, 3]))),
            .blob(.lacking(300, leaves: 1, .notYet)), .blob(.cancel(1)), .blob(.here(Samples.blob)),
            .ranges([
                FrontierRange(end: Samples.other, claim: .fingerprint(Samples.hash)),
                FrontierRange(end: Samples.another, claim: .entries([entry])),
                FrontierRange(end: nil, claim: .answer([])),
            ]),
            .ranges([FrontierRange(end: Samples.other, claim: .skip), FrontierRange(end: nil, claim: .equal)]),
            .run(Samples.run), .run(Samples.runWithLeaf), .caughtUp,
            .stored([entry, FrontierEntry(replica: Samples.replica, sequence: 0, hash: .zero)]),
            .credit(1 << 20), .eagerness(true),
            .probe(ChainProbe(replica: Samples.other, points: [point])),
            .ping(WallTime(milliseconds: .max)), .pong(nil),
        ]
    }
}
