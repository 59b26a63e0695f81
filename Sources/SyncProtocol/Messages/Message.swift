package import CRDTCore

/// What peers say to each other once a handshake has succeeded.
package enum Message: Hashable, Sendable {
    case hello(Hello)
    /// What a device that pairs asks for.
    case join(JoinRequest)
    /// The answer to a device that pairs.
    case welcome(Welcome)
    /// Who a member is whom the other side may not know, before its hello.
    case member(Introduction)
    /// Parts of the sender's frontier, compared range by range.
    case ranges([FrontierRange])
    /// Changes the receiver lacks.
    case run(Run)
    /// Everything the sender knew the receiver to lack has been sent.
    case caughtUp
    /// What the sender holds durably, as far as it is news or was asked for.
    case stored([FrontierEntry])
    /// The receiver may send this many bytes of runs more.
    case credit(UInt64)
    /// Whether changes of third devices should be pushed to the sender of this, or only announced.
    case eagerness(Bool)
    /// Asks which of some changes the receiver holds.
    case probe(ChainProbe)
    /// Writes that the sender needs and has only hashes of, each change once, in ascending order.
    case wanted([WantedContent])
    /// All that was wanted has been sent, as far as the sender has it.
    case given
    /// What the sender's state comes to, which is settled.
    case state(StateClaim)
    /// The sums of all groups of objects in the sender's state, since both have the same changes and not the same
    /// state.
    case sums(StateSums)
    /// The objects of the groups that differ.
    case objects(StateObjects)
    /// The circles of the sender's user that the receiver's user was given something in and does not read any more, as
    /// far as the sender knows; they replace those of an earlier message.
    case ended([EndedCircle])
    /// Changes for other devices than the receiver, which is to carry them, or for the receiver.
    case parcel(Parcel)
    /// The receiver of a parcel has it, or has no use for it; the next one may come.
    case parcelTaken(Hash256)
    /// What is asked and answered about the content of a blob.
    case blob(BlobMessage)
    /// The sender's wall clock; nil if it does not know the time (`Hello.wallTime`).
    case ping(WallTime?)
    case pong(WallTime?)

    /// Whether it says what its sender has stored.
    package var saysWhatIsStored: Bool {
        switch self {
        case .ranges, .stored: true
        default: false
        }
    }

    /// Whether only a device is sent it that is in the workspace.
    package var isForMembers: Bool {
        switch self {
        case .ranges, .run, .caughtUp, .stored, .probe, .wanted, .given, .state, .sums, .objects, .parcel, .parcelTaken,
            .blob:
            true
        case .hello, .join, .welcome, .member, .credit, .eagerness, .ended, .ping, .pong: false
        }
    }
}

/// A circle that somebody does not read any more.
package struct EndedCircle: Hashable, Sendable {
    package var circle: Circle
    /// How far each of his chains there counts that the sender has; of others, and of those that are too many, nothing
    /// is said.
    package var ends: [End]

    package init(_ circle: Circle, ends: [End] = []) { (self.circle, self.ends) = (circle, ends) }

    package struct End: Hashable, Sendable {
        package var replica: ReplicaID
        package var sequence: UInt64

        package init(replica: ReplicaID, sequence: UInt64) { (self.replica, self.sequence) = (replica, sequence) }
    }

    /// Appends the canonical bytes.
    package func encode(to bytes: inout [UInt8]) {
        self.circle.encode(to: &bytes)
        bytes.appendVarint(UInt64(self.ends.count))
        for end in self.ends {
            end.replica.bytes.append(to: &bytes)
            bytes.appendVarint(end.sequence)
        }
    }

    package init(decoding reader: inout ByteReader) throws(WireError) {
        self.circle = try Circle(decoding: &reader)
        self.ends = []
        for _ in 0..<(try reader.count(atMost: MessageLimits.endedChainCountMax)) {
            let replica = ReplicaID(bytes: try reader.bytes16())
            self.ends.append(End(replica: replica, sequence: try reader.varint()))
        }
    }
}

/// The first message each way.
package struct Hello: Hashable, Sendable {
    /// The version of the messages; a peer speaks the lower of the two.
    package var version: UInt64
    /// The first eight bytes of the sender's device id: the proof says which of the devices with its static key it is.
    package var deviceStart: UInt64
    /// Names the run of the sender's program: machines that were copied from each other differ in this alone.
    package var instance: UInt32
    /// The sender's wall clock; nil if that was set back, so that it is wrong now or was before.
    package var wallTime: WallTime?
    /// The TCP port the sender listens on; 0 if it does not.
    package var port: UInt16
    /// The fingerprint of the sender's whole frontier.
    package var fingerprint: Hash256
    /// Shows that the sender has the key of the device (`HandshakeProof`).
    package var proof: Signature

    package init(
        version: UInt64 = Hello.currentVersion,
        deviceStart: UInt64,
        instance: UInt32,
        wallTime: WallTime?,
        port: UInt16,
        fingerprint: Hash256,
        proof: Signature
    ) {
        self.version = version
        self.deviceStart = deviceStart
        self.instance = instance
        self.wallTime = wallTime
        self.port = port
        self.fingerprint = fingerprint
        self.proof = proof
    }

    package static let currentVersion: UInt64 = 1
}

/// Shows who is at an end of a link: a signature, by the key of the device, of what only this link has.
///
/// The handshake proves the static key alone. Without this a member could certify a device of his own making with the
/// static key of another, and be taken for it.
package enum HandshakeProof {
    /// What the device signs.
    ///
    /// `isDialler`: whether the device is the one that dialled, so that neither side can send the other's proof back.
    package static func message(handshakeHash: [UInt8], isDialler: Bool) -> [UInt8] {
        Array("peerd/proof/1".utf8) + [isDialler ? 0 : 1] + handshakeHash
    }
}

/// What a device that pairs asks for once the handshake is done.
package struct JoinRequest: Hashable, Sendable {
    package var device: DeviceID
    package var deviceName: String
    /// Shows that the sender has the key of the device (`HandshakeProof`).
    package var proof: Signature
    /// Who he is, if he is another person than whoever invites him: his own certificates say so.
    package var person: Introduction?

    package init(device: DeviceID, deviceName: String, proof: Signature, person: Introduction? = nil) {
        self.device = device
        self.deviceName = deviceName
        self.proof = proof
        self.person = person
    }
}

/// What a paired device needs to take part: who founded the workspace, and the certificates that make it a member.
package struct Welcome: Hashable, Sendable {
    package var founder: UserID
    package var workspaceNonce: Bytes16
    package var user: UserID
    /// What members know each other by that have not met: the workspace's membership key.
    package var membershipKey: Bytes32
    /// The device that welcomes.
    package var inviter: DeviceID
    /// The new device's certificate and those above it.
    package var certificates: [DeviceCertificate]

    package init(
        founder: UserID,
        workspaceNonce: Bytes16,
        user: UserID,
        membershipKey: Bytes32,
        inviter: DeviceID,
        certificates: [DeviceCertificate]
    ) {
        self.founder = founder
        self.workspaceNonce = workspaceNonce
        self.user = user
        self.membershipKey = membershipKey
        self.inviter = inviter
        self.certificates = certificates
    }
}

/// One range of replica ids in a comparison of frontiers.
///
/// It begins where the one before it ends.
package struct FrontierRange: Hashable, Sendable {
    /// Where the range ends, exclusively; nil for the end of all ids.
    package var end: ReplicaID?
    package var claim: Claim

    package init(end: ReplicaID?, claim: Claim) {
        self.end = end
        self.claim = claim
    }

    /// What the sender says of the range.
    package enum Claim: Hashable, Sendable {
        /// Nothing; it is settled or not part of this message.
        case skip
        /// The fingerprint of its entries.
        case fingerprint(Hash256)
        /// Its entries; the receiver answers with its own.
        case entries([FrontierEntry])
        /// Its entries, in answer to the receiver's.
        case answer([FrontierEntry])
        /// The receiver's fingerprint is the sender's too.
        case equal
    }
}

/// A state, by the changes that it follows from: late work is done, other changes may wait, and content may be missing.
package struct StateClaim: Hashable, Sendable {
    /// The fingerprint of the frontier of what is applied.
    package var frontier: Hash256
    /// The root of the `SettledDigest`.
    package var root: Hash256

    package init(frontier: Hash256, root: Hash256) { (self.frontier, self.root) = (frontier, root) }
}

/// What a state comes to, group by group.
package struct StateSums: Hashable, Sendable {
    /// The fingerprint of the frontier of what is applied.
    package var frontier: Hash256
    /// As many as there are groups.
    package var sums: [UInt64]

    package init(frontier: Hash256, sums: [UInt64]) { (self.frontier, self.sums) = (frontier, sums) }
}

/// Objects of some groups of a state.
package struct StateObjects: Hashable, Sendable {
    /// The fingerprint of the frontier of what is applied.
    package var frontier: Hash256
    /// Ascending.
    package var groups: [Int]
    /// All of these groups, in ascending order of ids.
    package var objects: [ObjectDigest]

    package init(frontier: Hash256, groups: [Int], objects: [ObjectDigest]) {
        (self.frontier, self.groups, self.objects) = (frontier, groups, objects)
    }
}

/// One change of a chain, by what nobody can imitate.
package struct ChainPoint: Hashable, Sendable {
    package var sequence: UInt64
    package var hash: Hash256

    package init(sequence: UInt64, hash: Hash256) {
        self.sequence = sequence
        self.hash = hash
    }
}

/// Changes along one fork of a chain, in ascending order.
///
/// The receiver answers with the last of them that it holds, or with sequence 0 if it holds none. (So does Bitcoin find
/// where two chains of blocks part: its `getheaders` carries a *block locator*.)
package struct ChainProbe: Hashable, Sendable {
    package var replica: ReplicaID
    package var points: [ChainPoint]

    package init(replica: ReplicaID, points: [ChainPoint]) {
        self.replica = replica
        self.points = points
    }
}
