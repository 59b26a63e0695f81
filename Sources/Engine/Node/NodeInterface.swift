package import CRDTCore
import PeerCrypto

/// Names one transport connection; given out by the driver for dials, by the transport for accepted ones.
package struct ConnectionID: RawRepresentable, Hashable, Sendable {
    package var rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// Names one request of a local caller; the node returns it with the answer.
package struct RequestID: RawRepresentable, Hashable, Sendable {
    package var rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// Where a peer may be reached: a host name or address, and a TCP port.
package struct NetworkAddress: Hashable, Sendable, CustomStringConvertible {
    package var host: String
    package var port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Whose connections count as one stranger's: an IPv4 host alone, or the 64 bits of an IPv6 address behind which
    /// one has as many addresses as one likes.
    var network: String {
        guard self.host.contains(":") else { return self.host }
        let address = self.host.prefix { $0 != "%" }
        guard let gap = address.firstRange(of: "::") else {
            return address.split(separator: ":").prefix(4).joined(separator: ":")
        }
        let front = address[..<gap.lowerBound].split(separator: ":")
        let back = address[gap.upperBound...].split(separator: ":")
        let zeros = Array(repeating: Substring("0"), count: max(0, 8 - front.count - back.count))
        return (front + zeros + back).prefix(4).joined(separator: ":")
    }

    package var description: String {
        self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
    }
}

/// What time it is, as told by the driver: the wall clock for stamps, a clock that never goes back for waiting.
package struct ClockReading: Hashable, Sendable {
    package var wall: WallTime
    package var monotonicMilliseconds: UInt64

    package init(wall: WallTime, monotonicMilliseconds: UInt64) {
        self.wall = wall
        self.monotonicMilliseconds = monotonicMilliseconds
    }
}

/// What happened.
///
/// Events are facts; the node decides what follows.
package enum Event: Sendable {
    /// A stranger's connection was accepted.
    case accepted(ConnectionID, from: NetworkAddress)
    /// A dial that an effect asked for has connected.
    case connected(ConnectionID)
    case dialFailed(ConnectionID)
    case received(ConnectionID, [UInt8])
    /// So many bytes of earlier `.send` effects have left for the network.
    case flushed(ConnectionID, byteCount: Int)
    case closed(ConnectionID)
    /// Local callers want these written; each is one transaction, and all become durable together.
    case write([WriteRequest])
    /// The user wants what is held restamped, and may say that the clock is right.
    case restamp(RequestID, isClockRight: Bool)
    /// This device takes part from now on: others should learn of it although it has written nothing.
    case introduce
    /// A discovery beacon arrived.
    case beacon([UInt8], fromHost: String)
    /// The user named an address to keep a connection to.
    case addAddress(NetworkAddress)
    /// The user wants to meet everyone now: dial all known addresses without waiting for backoff.
    case dialAll
    /// From now on others can reach this device, and it looks for them.
    case takePart(Participation)
    /// This device meets nobody any more.
    case withdraw
    /// Another program has written to the database.
    case databaseChanged
    /// The deadline that `nextDeadline` named has passed; spurious ones are harmless.
    case timer
}

/// How a device meets others.
package struct Participation: Hashable, Sendable {
    /// The TCP port that peers can reach; nil if the device only dials.
    package var listenPort: UInt16?
    /// Addresses to keep a connection to.
    package var staticAddresses: [NetworkAddress]
    /// Whether to send beacons and act on them.
    package var discovers: Bool

    package init(listenPort: UInt16?, staticAddresses: [NetworkAddress] = [], discovers: Bool = false) {
        self.listenPort = listenPort
        self.staticAddresses = staticAddresses
        self.discovers = discovers
    }
}

/// The key that a local caller gave a write, so that it is done once, however often the caller asks for it.
package struct IdempotencyKey: Hashable, Sendable {
    package var text: String
    /// A hash of what the caller wants: another write may not have the same name.
    package var content: Hash256

    package init(_ text: String, content: Hash256) {
        self.text = text
        self.content = content
    }
}

/// One transaction a local caller wants.
package struct WriteRequest: Sendable {
    package var id: RequestID
    package var content: Content
    /// Nil if the write is done whenever it is asked for.
    package var name: IdempotencyKey?
    /// The branch that it is written to; nil for the main timeline.
    package var branch: BranchID?
    package var action: ActionContext

    /// What to write.
    package enum Content: Sendable {
        case steps(Transaction)
        /// The caller's own code decides as it reads; what it throws is the answer, and nothing is written.
        case body(@Sendable (inout LocalTransaction) throws(WriteRefusal) -> Void)
    }

    package init(
        id: RequestID,
        transaction: Transaction,
        branch: BranchID? = nil,
        action: ActionContext = ActionContext()
    ) {
        self.id = id
        self.branch = branch
        self.action = action
        self.content = .steps(transaction)
    }

    package init(
        id: RequestID,
        name: IdempotencyKey? = nil,
        branch: BranchID? = nil,
        action: ActionContext = ActionContext(),
        body: @escaping @Sendable (inout LocalTransaction) throws(WriteRefusal) -> Void
    ) {
        self.id = id
        self.name = name
        self.branch = branch
        self.action = action
        self.content = .body(body)
    }
}

/// The program that writes, and the action of it that a change belongs to.
package struct ActionContext: Hashable, Sendable {
    /// The name of the program, in at most `Limits.labelByteCountMax` bytes.
    package var label: String
    /// The stamp of the change with which the action began; nil if it begins now.
    package var start: Stamp?
    /// What the change has to do with what was written for the action before.
    var link = ActionLink.follows

    package init(label: String = "", start: Stamp? = nil) { (self.label, self.start) = (label, start) }
}

/// What the driver must do.
///
/// It switches over these without a default.
package enum Effect: Sendable {
    case dial(ConnectionID, NetworkAddress)
    case send(ConnectionID, [UInt8])
    /// The bytes of a `.received` event are dealt with; the transport may read as many more.
    case resumeReading(ConnectionID, byteCount: Int)
    case close(ConnectionID, afterFlush: Bool)
    /// The answer to a request. What it says was written is durable.
    case answer(RequestID, Result<WriteReceipt, WriteRefusal>)
    /// Send a discovery beacon on every interface.
    case broadcast([UInt8])
    /// Something the user should know.
    case notice(Notice)
}

/// What a write did.
package struct WriteReceipt: Hashable, Sendable {
    /// The change that holds the write; nil if there was nothing to write, or it was done before.
    package var dot: Dot?
    /// Objects that the transaction made, in the order of its creations.
    package var created: [ObjectID]
    package var operationCount: Int
    /// When the action began that the write belongs to; nil if nothing was written for one.
    package var start: Stamp?
}

/// Why a write was not done.
///
/// Nothing of it was kept.
package enum WriteRefusal: Error, Hashable, Sendable {
    case noSuchObject(ObjectID)
    /// The object was not there at the moment that shall be restored.
    case wasNotThere(ObjectID)
    /// An object may not stand under itself or below itself.
    case wouldCloseCycle(ObjectID)
    /// The sibling to stand before is not under that parent.
    case notASibling(ObjectID)
    case tooLarge(what: String, limit: Int)
    /// The last stamp of all has been used.
    case clockExhausted
    /// No other device's clock shows that ours is right, and the user has not said so.
    case clockUnconfirmed
    /// The caller's own code threw.
    case abandoned
    /// A write with other content has that name.
    case nameTaken(String)
    /// No branch is known by that id, or it was deleted.
    case noSuchBranch(BranchID)
    /// So many changes of the branch, about so many objects, of which these are some, count nowhere else.
    case branchUnmerged(BranchTable.Entry, changes: Int, objects: [ObjectID], objectCount: Int)
    /// What the branch begins with, or is merged into, is not all here.
    case branchIncomplete(BranchID)
    /// Only the main timeline takes that.
    case notOnBranch
    /// The object is below another one that is shared, and nobody shares a part of that again.
    case partOfShare(ObjectID)
    /// The object is not shared.
    case notShared(ObjectID)
    /// The user owns what is shared, and always has it.
    case isOwner(ObjectID)
    /// The object has no such property.
    case noSuchProperty(String, ObjectID)
    /// The property of the object is not hidden, or not by this user.
    case notHidden(String, ObjectID)
    /// The person does not read the object.
    case notReader(ObjectID)
    /// The user may not do that here, with an object if one is named.
    case notPermitted(RightNeed, ObjectID?)
    /// The device is the one that writes, or goes with it.
    case isThisDevice
    /// The device vouches for the one that writes, or is as near to the root key of its user.
    case standsAbove(String)
    /// The device with this name is removed already.
    case isRemoved(String)
    /// Devices with these names, which it has vouched for, would go with it.
    case takesOthers([String])
    /// The first device was not vouched for by the second one.
    case notBelow(String, String)
    /// An open branch shows an earlier value of the property.
    case shownOnBranch(name: String, of: String)
    case store(StoreError)
}

/// Why an address that the user named leads to no session.
package enum AddressFailure: Hashable, Sendable {
    /// Nothing answers there.
    case unreachable
    /// Something answers and hangs up: it is no device of this workspace, or not one that lets us in.
    case hungUp
    /// A device answers that has our own keys: it was copied from this one, or this one from it.
    case ourselves
    /// A member answers whose certificates do not hold.
    case notCertified
}

/// Something worth telling the user.
package enum Notice: Hashable, Sendable {
    case connected(device: String)
    /// An address that the user named leads to no session.
    case addressFailed(NetworkAddress, AddressFailure)
    /// Another device has the same changes and another state of some objects.
    case stateDiffers(device: String, objects: [ObjectID])
    /// The states that differed are equal again.
    case stateAgrees(device: String)
    /// A device was met that no other had told us of.
    case memberMet(device: String)
    /// A device is refused, since those that one device vouches for have taken all that is theirs.
    case tooManySessions(device: String, certifier: String)
    case disconnected(device: String)
    case paired(device: String)
    /// A device that was paired has never come, and is forgotten.
    case pairingLapsed(device: String)
    /// Changes of a device are stamped too far ahead; they wait until then.
    case held(device: String, until: WallTime)
    /// The clock of a device shows another time than ours, a later one if the difference is positive.
    case clockDiffers(device: String, millisecondsAhead: Int64)
    /// Our clock shows less than it once did, so that nobody can say which of the two is right.
    case clockSetBack(from: WallTime)
    /// This database goes on under a new replica id.
    case newReplica(NewReplicaReason)
    /// Two machines write as one device: its chain goes on in two ways from a change on. All of it counts.
    case forked(device: String, sequence: UInt64)
    /// A peer broke the protocol; the connection was ended.
    case protocolViolation(device: String?, reason: String)
    case storeFailed(StoreError)
    /// Bytes of what was erased are still in the files, which could not be written anew; that is tried again.
    case erasedBytesRemain(reason: String)
    /// The device with this name says that this one is removed from the workspace.
    case removed(by: String)
    /// So many erasures of other devices wait for a day, since they are too many.
    case erasuresWait(count: Int)
    /// Something that the next start would need could not be kept in a file.
    case notKept(String, reason: String)
    /// The system does not tell which addresses this machine has, so nobody is found and nobody can be invited.
    case addressesUnknown(reason: String)
}

/// Why a database goes on under a new replica id.
package enum NewReplicaReason: String, Hashable, Sendable {
    case first
    /// The file is not where, or on the machine, it was.
    case copiedOrRestored
    /// A peer has sent changes of this replica that the database did not have.
    case rolledBack
    /// Two different changes carry one of its dots.
    case forked
    /// It had written with a clock far ahead.
    case clockRepaired
}
