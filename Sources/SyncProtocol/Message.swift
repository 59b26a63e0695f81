package import CRDTCore

/// What peers say to each other once a handshake has succeeded.
package enum Message: Hashable, Sendable {
    case hello(Hello)
    /// The answer to a device that pairs.
    case welcome(Welcome)
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
    /// The sender's wall clock; nil if it does not know the time (`Hello.wallTime`).
    case ping(WallTime?)
    case pong(WallTime?)
}

/// The first message each way.
package struct Hello: Hashable, Sendable {
    /// The version of the messages; a peer speaks the lower of the two.
    package var version: UInt64
    package var workspace: WorkspaceID
    package var device: DeviceID
    /// The replica the sender writes under now; nil before its first write.
    package var replica: ReplicaID?
    /// The sender's wall clock; nil if that was set back, so that it is wrong now or was before.
    package var wallTime: WallTime?
    /// The TCP port the sender listens on; 0 if it does not.
    package var port: UInt16
    /// The fingerprint of the sender's whole frontier.
    package var fingerprint: Hash256

    package init(
        version: UInt64 = Hello.currentVersion,
        workspace: WorkspaceID,
        device: DeviceID,
        replica: ReplicaID?,
        wallTime: WallTime?,
        port: UInt16,
        fingerprint: Hash256
    ) {
        self.version = version
        self.workspace = workspace
        self.device = device
        self.replica = replica
        self.wallTime = wallTime
        self.port = port
        self.fingerprint = fingerprint
    }

    package static let currentVersion: UInt64 = 1
}

/// What a device that pairs sends in the last message of the handshake.
package struct JoinRequest: Hashable, Sendable {
    package var device: DeviceID
    package var deviceName: String

    package init(device: DeviceID, deviceName: String) {
        self.device = device
        self.deviceName = deviceName
    }

    /// The bytes that travel as the handshake's payload.
    package var encoded: [UInt8] {
        var bytes: [UInt8] = [1]
        self.device.bytes.append(to: &bytes)
        bytes.appendPrefixed(Array(self.deviceName.utf8))
        return bytes
    }

    package init(decoding bytes: [UInt8]) throws(WireError) {
        var reader = ByteReader(bytes)
        guard try reader.byte() == 1 else { throw .unknownKind }
        self.device = DeviceID(bytes: try reader.bytes32())
        self.deviceName = try reader.text(atMost: Limits.nameByteCountMax)
        try reader.finish()
    }
}

/// What a paired device needs to take part: who founded the workspace, and the certificates that make it a member.
package struct Welcome: Hashable, Sendable {
    package var founder: UserID
    package var workspaceNonce: Bytes16
    package var user: UserID
    /// The new device's certificate and those above it.
    package var certificates: [DeviceCertificate]

    package init(founder: UserID, workspaceNonce: Bytes16, user: UserID, certificates: [DeviceCertificate]) {
        self.founder = founder
        self.workspaceNonce = workspaceNonce
        self.user = user
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

/// One change of a chain, by what nobody can imitate.
package struct ChainPoint: Hashable, Sendable {
    package var sequence: UInt64
    package var hash: Hash256

    package init(sequence: UInt64, hash: Hash256) {
        self.sequence = sequence
        self.hash = hash
    }
}

/// Changes along one branch of a chain, in ascending order.
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
