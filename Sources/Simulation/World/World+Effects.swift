internal import CRDTCore
package import Engine
internal import Persistence

/// Doing what nodes ask for.
extension World {
    package func perform(_ effect: Effect, of machine: Machine) {
        switch effect {
        case .dial(let connection, let address): self.dial(connection, address, from: machine)
        case .send(let connection, let bytes): self.send(bytes, on: connection, of: machine)
        case .resumeReading: break  // Everything that arrives is handed on; the node has dealt with it when it returns.
        case .close(let connection, let afterFlush): self.close(connection, afterFlush: afterFlush, of: machine)
        case .answer(let request, let result): self.answered(request, result, of: machine)
        case .broadcast(let bytes): self.broadcast(bytes, from: machine)
        case .notice(let notice): self.noticed(notice, by: machine)
        }
    }

    private func broadcast(_ bytes: [UInt8], from machine: Machine) {
        for other in self.machines where other.number != machine.number && other.isUp {
            guard !self.network.isBlocked(from: machine.number, to: other.number, at: self.time) else { continue }
            let choice = self.tape.draw(.network, below: 1 << 50)
            if self.isFaulty, self.plan.faults.contains(.lostBeacons), choice & 3 == 0 {
                self.record.count(.lostBeacons)
                continue
            }
            let delay = self.network.latency(machine.number, other.number, isLossy: false, choice: choice)
            let (incarnation, event) = (other.incarnation, Event.beacon(bytes, fromHost: machine.host))
            self.schedule(after: delay) { $0.handle(other, incarnation, event) }
        }
    }

    private func noticed(_ notice: Notice, by machine: Machine) {
        self.trace?.add(.notice(Trace.words(notice)), machine: machine.number, at: self.time)
        switch notice {
        case .connected: self.record.mark(.sessionStood)
        case .disconnected: self.endedSessionCount += 1
        case .paired, .pairingLapsed, .addressFailed, .tooManySessions, .erasedBytesRemain, .notKept, .erasuresWait,
            .removed,
            .addressesUnknown:
            break
        case .stateDiffers(let device, let objects):
            let mayDiffer = { (machine: Machine) in
                machine.hostile != nil || machine.isTainted || machine.alteredUntil > self.time
            }
            guard !self.machines.contains(where: mayDiffer) else { break }
            let message = "machine \(machine.number) says that \(objects.count) objects are others at \(device)"
            self.record.find(.divergence, message)
        case .stateAgrees: break
        case .memberMet: self.record.mark(.memberMet)
        case .held: self.record.mark(.changeHeld)
        case .clockDiffers: self.record.mark(.clockDifferenceTold)
        case .clockSetBack: self.record.mark(.clockSetBackTold)
        case .newReplica(let reason): self.wentOn(reason, machine)
        case .forked(let device, let sequence):
            self.record.mark(.forkSeen)
            let isHonest = !self.machines.contains { $0.hostile != nil }
            if isHonest, !self.hasHiddenCopy, !self.machines.contains(where: \.isTainted) {
                let message =
                    "machine \(machine.number) says that \(device) has forked at \(sequence), and every copy could "
                    + "be told from its original"
                self.record.find(.needlessFork, message)
            }
        case .protocolViolation(let device, let reason): self.violation(reason, of: device, at: machine)
        case .storeFailed(let error):
            switch error {
            case .diskFull: self.record.mark(.writeRefusedByFullDisk)
            case .inputOutput: self.record.mark(.storeFailed)
            case .damaged(let text):
                if !machine.isTainted {
                    self.record.find(.damage, "machine \(machine.number), whose disk kept its promises: \(text)")
                }
            case .unavailable, .moved, .locked, .newerSchema, .earlierSchema: self.record.mark(.storeFailed)
            case .compacted: self.record.find(.damage, "machine \(machine.number) takes what was dropped for a failure")
            }
        }
    }

    /// A database continues under a new replica id: there must have been a reason.
    private func wentOn(_ reason: NewReplicaReason, _ machine: Machine) {
        let hasCause: Bool
        let wasCopied = self.record.saw(.restoredMachine, .restoredDatabase, .clonedDisk, .copiedDatabase)
        let wasLiedTo = self.machines.contains { $0.hostile != nil }
        switch reason {
        case .first:
            // Why a replica was given up is not remembered over a restart, be it a clock that a liar misled.
            hasCause = wasCopied || machine.isTainted || wasLiedTo || !self.hasFormerReplica(machine)
        case .copiedOrRestored:
            self.record.mark(.copyNoticed)
            hasCause = self.record.saw(.restoredDatabase, .copiedDatabase) || machine.isTainted
        case .rolledBack:
            self.record.mark(.rollbackNoticed)
            hasCause = wasCopied || machine.isTainted
        case .forked:
            self.record.mark(.forkLeft)
            hasCause = wasCopied || machine.isTainted
        case .clockRepaired:
            self.record.mark(.clockRepaired)
            hasCause = Fault.wrongClocks.contains { self.record.saw($0) } || wasLiedTo
        }
        if !hasCause {
            let message = "machine \(machine.number) continues under a new replica id: \(reason.rawValue)"
            self.record.find(.needlessReplica, message)
        }
    }

    /// Whether a machine's device has opened a replica before its present one.
    private func hasFormerReplica(_ machine: Machine) -> Bool {
        let device = machine.observedStatus(at: self.time)?.device
        let count = machine.look { transaction throws(StoreError) in
            transaction.segmentIndices.count {
                let segment = transaction.segment($0)
                return segment.device == device && segment.branch == nil
            }
        }
        return count ?? 0 > 1
    }

    /// A peer is said to have broken the protocol: true only of hostile members, of strangers, of bytes that were
    /// changed on the way, which no record survives, and of those who have something from a disk that decayed.
    private func violation(_ reason: String, of device: String?, at machine: Machine) {
        self.record.mark(.violationSeen)
        let hostile = self.machines.compactMap(\.hostile).flatMap(\.names)
        if device.map({ hostile.contains($0) }) ?? !hostile.isEmpty { return }
        let isOfStrangers = self.record.saw(.bitFlip, .garbageStranger, .replayedHandshake, .replayedStream)
        if device == nil, isOfStrangers { return }
        let isOfRecords = ["badTag", "shortRecord", "malformedRecord", "overusedKey"].contains(reason)
        if isOfRecords, self.record.saw(.bitFlip) { return }
        if self.machines.contains(where: \.isTainted) { return }
        self.record.find(
            .violation,
            "machine \(machine.number) says that an honest peer broke the protocol "
                + "(\(device ?? "nobody")): \(reason)"
        )
    }
}
