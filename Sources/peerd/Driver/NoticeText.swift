internal import CRDTCore
internal import Engine
internal import LocalAPI

/// Notices of the node as sentences for people.
enum NoticeText {
    /// Any notice.
    static func of(_ notice: Notice) -> String {
        switch notice {
        case .connected(let device): "Connected to \(self.name(device))."
        case .disconnected(let device): "The connection to \(self.name(device)) has ended."
        case .paired(let device): "\(self.name(device)) has joined the workspace."
        case .memberMet(let device):
            "\(self.name(device)) joined this workspace through another machine; it is now known here."
        case .addressFailed(let address, let failure): "\(address) \(failure.text)."
        case .tooManySessions(let device, let certifier):
            """
            \(self.name(device)) was refused: \(self.name(certifier)) vouches for more machines than may be connected \
            at once.
            """
        case .pairingLapsed(let device):
            """
            \(self.name(device)) was let in a week ago and has not connected since, so it is forgotten. If it got its \
            keys, it is let in again when it connects; if not, it needs a new invite.
            """
        case .held(let device, let until):
            """
            Changes of \(self.name(device)) are stamped in the future and held until \
            \(PlainText.time(until.milliseconds)); check the clock of that machine. If it is right now, \
            or the machine is gone, "peerd restamp" orders them by what they had seen.
            """
        case .clockDiffers(let device, let ahead): ClockSentence.difference(ahead, of: self.name(device))
        case .clockSetBack(let former): ClockSentence.setBack(from: former.milliseconds)
        case .newReplica(let reason): "This database continues under a new replica id: \(self.text(reason))."
        case .forked(let device, let sequence):
            """
            Two machines write as \(self.name(device)), or its database was restored: its chain forks at change \
            \(sequence). All changes count.
            """
        case .stateDiffers(let device, let objects):
            """
            \(self.name(device)) has the same changes and another state of \
            \(PlainText.list(objects.map(\.description))). Each machine reads its log again, and puts right what does \
            not follow from it.
            """
        case .stateAgrees(let device): "\(self.name(device)) has the same state again."
        case .protocolViolation(let device, let reason):
            (device.map(self.name) ?? "A stranger")
                + " violated the protocol (\(reason)); disconnected."
        case .storeFailed(let error): CommandFailure(error).message
        case .erasedBytesRemain(let reason):
            "The files still hold bytes of what was erased, for they could not be written anew: \(reason) "
                + "This is tried again; doctor says when it is done."
        case .erasuresWait(let count):
            """
            \(PlainText.count(count, "erasure")) of other machines wait for a day, since they erase more than a \
            thousand values; "peerd erasures" shows whose they are, and allows or stops them.
            """
        case .removed(let device): RemovalSentence.told(by: device)
        case .notKept(let what, let reason): "\(what) could not be kept for the next start: \(reason)"
        case .addressesUnknown(let reason):
            """
            The system does not tell the addresses of this machine (\(reason)): no machine is found here, and none can \
            be invited. Where a service runs peerd, RestrictAddressFamilies= must name AF_NETLINK.
            """
        }
    }

    /// Those that someone who runs a single command must know.
    static func warning(_ notice: Notice) -> String? {
        switch notice {
        // What the command could not write for that is its own error.
        case .storeFailed(.diskFull): nil
        case .held, .clockDiffers, .clockSetBack, .forked, .storeFailed, .erasedBytesRemain, .notKept, .stateDiffers,
            .removed, .erasuresWait, .addressesUnknown:
            self.of(notice)
        case .newReplica(let reason): reason == .first ? nil : self.of(notice)
        case .connected, .disconnected, .paired, .memberMet, .addressFailed, .pairingLapsed, .protocolViolation,
            .tooManySessions, .stateAgrees:
            nil
        }
    }

    private static func name(_ device: String) -> String {
        "\"\(device)\""
    }

    private static func text(_ reason: NewReplicaReason) -> String {
        switch reason {
        case .first: "it is new"
        case .copiedOrRestored: "the file was copied or restored, or its log was damaged"
        case .rolledBack: "the other machines hold later changes of it"
        case .forked: "its chain has forked"
        case .clockRepaired: "its last change is stamped in the future, so the clock was ahead then, or is behind now"
        }
    }
}
