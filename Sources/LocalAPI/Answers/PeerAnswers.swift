package import Engine
internal import PeerdKit

/// Another machine.
package struct PeerAnswer: Answer {
    package var device: String
    package var name: String
    /// Whose it is; nil if that is not known here.
    package var user: String?
    /// The machines through which it has joined, the nearest first.
    package var joinedThrough: [String]
    /// Whether this machine may remove it.
    package var removable: Bool
    package var connected: Bool
    package var address: String?
    package var lastSeenMs: Int64?
    package var clockAheadMs: Int64?
    package var inSync: Bool
    package var holdsUntilMs: Int64?
    package var missingThere: Int?
    package var missingHere: Int?
    package var reason: Word<Reason>?
    package var advice: String?
    package var traffic: TrafficAnswer
    /// Whether more than one machine runs as this one.
    package var copies: Bool
    /// Since when its state is known to be another one although it has the same changes, and of which objects.
    package var differsSinceMs: Int64?
    package var differing: [String]

    package enum Reason: String, CaseIterable, Sendable {
        case notMet = "not_met"
        case offline, comparing, exchanging
    }

    init(_ status: PeerStatus) {
        (self.device, self.name) = (status.device.description, status.name)
        (self.user, self.joinedThrough) = (status.user?.description, status.certifiers.map(\.description))
        self.removable = status.isRemovable
        (self.connected, self.address) = (status.isConnected, status.address?.description)
        self.lastSeenMs = status.lastSeen.map { Int64(clamping: $0.milliseconds) }
        self.clockAheadMs = status.clockAheadMilliseconds
        self.inSync = status.isConnected && status.isInSync
        self.holdsUntilMs = status.holdsUntil.map { Int64(clamping: $0.milliseconds) }
        self.missingThere = status.missingThereCount.map { Int(clamping: $0) }
        self.missingHere = status.missingHereCount.map { Int(clamping: $0) }
        let reason = Peer(status).reason
        self.reason =
            switch reason {
            case .notMet: Word(.notMet)
            case .offline: Word(.offline)
            case .comparing: Word(.comparing)
            case .exchanging: Word(.exchanging)
            case nil: nil
            }
        self.advice = reason?.advice
        (self.traffic, self.copies) = (TrafficAnswer(status.traffic), status.hasCopies)
        self.differsSinceMs = status.difference.map { Int64(clamping: $0.since.milliseconds) }
        self.differing = status.difference?.objects.map(\.description) ?? []
    }

    /// `someWait`: whether changes that are stored are not in force here yet.
    package func sentence(someWait: Bool) -> String { "\(self.name): \(self.exchange(someWait: someWait))" }

    /// How far the exchange with a connected machine is.
    package func exchange(someWait: Bool) -> String {
        if self.inSync {
            guard let until = self.holdsUntilMs else {
                return someWait ? "has the same changes; values may differ while some wait" : "in sync"
            }
            return """
                has the same changes; values differ, because those that its clock has not reached are held there \
                until \(PlainText.time(until))
                """
        }
        guard let there = self.missingThere, let here = self.missingHere else { return "comparing" }
        return "lacks \(PlainText.count(there, "change")); \(PlainText.count(here, "change")) to come from it"
    }

    /// That it has another state, as a sentence; nil if it has not.
    package var differenceSentence: String? {
        self.differsSinceMs.map { since in
            """
            \(self.name) has the same changes as this machine and, since \(PlainText.time(since)), another state of \
            \(PlainText.list(self.differing))
            """
        }
    }

    /// Either database was altered or damaged, or there is an error in the program.
    package static let differenceAdvice =
        "each machine reads its log again, and puts right what does not follow from it; if this stays for an hour, run "
        + "\"peerd doctor\" on both, and join again with the one whose database it finds fault with"

    /// That there are several of it, as a sentence.
    package var copiesSentence: String {
        "more than one machine runs as \(self.name), or did within ten minutes: one was copied or restored from the "
            + "other; what both write counts"
    }

    /// What it wrote may be nowhere else until it has synced.
    package static let copiesAdvice =
        "to tell them apart, run \"peerd sync\" on one of them, then stop it, empty its data directory, and let it "
        + "join with an invite of its own; what no other machine has, such as snapshots of objects and the folder "
        + "\"files\", is to be saved before"
}

/// An address that was named and leads to no machine.
package struct AddressAnswer: Answer {
    package var device: String?
    package var name: String?
    package var connected = false
    package var address: String
    package var failure: String

    package init(_ status: AddressStatus) {
        (self.address, self.failure) = (status.address.description, status.failure.text)
    }

    package var sentence: String { "\(self.address) \(self.failure)." }
}

extension AddressFailure {
    /// What follows the address in a sentence.
    package var text: String {
        switch self {
        case .unreachable: "does not answer"
        case .hungUp: "answers and hangs up: it is not a machine of this workspace, or it is busy"
        case .ourselves: "is this machine, or a copy of it: it has the same keys"
        case .notCertified: "answers with invalid certificates"
        }
    }
}

/// What was exchanged.
package struct TrafficAnswer: Answer {
    package var pushedChanges: Int
    package var pushedOperations: Int
    package var pulledChanges: Int
    package var pulledOperations: Int
    package var duplicateChanges: Int
    package var sentBytes: Int
    package var receivedBytes: Int

    init(_ traffic: Traffic) {
        (self.pushedChanges, self.pushedOperations) = (traffic.pushedChangeCount, traffic.pushedOperationCount)
        (self.pulledChanges, self.pulledOperations) = (traffic.pulledChangeCount, traffic.pulledOperationCount)
        self.duplicateChanges = traffic.duplicateChangeCount
        (self.sentBytes, self.receivedBytes) = (traffic.sentByteCount, traffic.receivedByteCount)
    }
}

/// Changes that are stored and not in force yet.
package struct WaitAnswer: SparseAnswer {
    package var replica: String
    package var deviceName: String
    package var sequence: Int
    package var changes: Int
    package var reason: Word<Reason>
    package var untilMs: Int64?
    package var missingReplica: String?
    package var missingSequence: Int?

    package enum Reason: String, CaseIterable, Sendable {
        case held, missing
    }

    package init(_ wait: ReplicaWait) {
        (self.replica, self.deviceName) = (wait.replica.description, wait.deviceName)
        (self.sequence, self.changes) = (Int(clamping: wait.sequence), Int(clamping: wait.changeCount))
        switch wait.reason {
        case .held(let until):
            self.reason = Word(.held)
            self.untilMs = Int64(clamping: until.milliseconds)
        case .missing(let point):
            self.reason = Word(.missing)
            (self.missingReplica, self.missingSequence) = (point.replica.description, Int(clamping: point.sequence))
        }
    }

    package var sentence: String {
        let what = "\(PlainText.count(self.changes, "change")) of \(self.deviceName)"
        if let untilMs {
            return """
                \(what), stamped in the future, until \(PlainText.time(untilMs)); "peerd restamp" orders them by what \
                they had seen
                """
        }
        return "\(what), which need change \(self.missingSequence ?? 0) of replica \(self.missingReplica ?? "?")"
    }
}

/// A chain with several forks.
package struct ForkAnswer: Answer {
    package var replica: String
    package var deviceName: String
    package var forks: Int

    package init(_ fork: ReplicaFork) {
        (self.replica, self.deviceName, self.forks) = (fork.replica.description, fork.deviceName, fork.forkCount)
    }

    package var sentence: String {
        """
        \(self.deviceName): its database was restored or copied, and went on in \(self.forks) ways; the changes \
        of all count
        """
    }
}

/// Erasures of another machine that wait here.
package struct WaitingErasuresAnswer: Answer {
    package var device: String
    package var deviceName: String
    package var erasures: Int
    /// When the first of them is done; nil if they were stopped.
    package var dueMs: Int64?

    package init(_ waiting: DeviceErasures) {
        (self.device, self.deviceName) = (waiting.device.description, waiting.deviceName)
        (self.erasures, self.dueMs) = (waiting.count, waiting.due.map { Int64(clamping: $0.milliseconds) })
    }

    package var sentence: String {
        let what = "\(PlainText.count(self.erasures, "erasure")) of \(self.deviceName)"
        guard let dueMs else { return "\(what): stopped here; \"peerd erasures allow DEVICE\" lets them through" }
        return """
            \(what): more than a thousand values in a day, so they wait until \(PlainText.time(dueMs)); \
            "peerd erasures stop DEVICE" keeps the values here, "peerd erasures allow DEVICE" erases them now
            """
    }
}

/// The other machines, and what was named and leads to none.
package struct PeerList: Answer {
    package var peers: [PeerAnswer]
    package var addresses: [AddressAnswer]
}

/// How far the exchange is.
struct SyncStatusAnswer: Answer {
    var inSync: Bool
    /// Changes that others lack; nil if nobody knows, since one is away.
    var pending: Int?
    var peers: [PeerAnswer]
    var waiting: [WaitAnswer]
}

/// The stretches of chains that were restamped.
package struct RestampAnswer: Answer {
    package var restamped: [Stretch]

    package struct Stretch: Answer {
        package var replica: String
        package var deviceName: String
        package var changes: Int
    }
}

/// What removing a machine did.
package struct MachineRemovalAnswer: Answer {
    package var removed: [Machine]
    /// Transactions of theirs that were here and count no more.
    package var cutTransactions: Int
    /// The names of machines that they had removed, and that stay so.
    package var stillRemoved: [String]

    package struct Machine: Answer {
        package var id: String
        package var name: String
    }

    init(_ removal: MachineRemoval, names: [(device: DeviceID, name: String)]) {
        self.removed = removal.removed.map { id in
            Machine(id: id, name: names.first { $0.device.description == id }?.name ?? "")
        }
        (self.cutTransactions, self.stillRemoved) = (removal.cutTransactionCount, removal.stillRemoved)
    }
}
