/// When and how a member breaks the protocol.
extension PlanGenerator {
    /// How far ahead of the true time a hostile member stamps, in milliseconds: less than anyone holds whose clock is
    /// right within five minutes, or more than anyone takes.
    private static let aheadMilliseconds: [UInt64?] = [
        120_000, 240_000, 1_200_000, 3_600_000, 10 * 365 * 86_400_000, nil,
    ]

    mutating func addHostility(_ fault: Fault) {
        let time = self.time()
        let (_, drawn) = self.pair()
        guard let peer = self.hostilePeer else { return }
        let victim = drawn == peer ? (peer + 1) % self.plan.peerCount : drawn
        let action = self.hostileAction(fault, peer, victim)
        // To stay is done to nobody.
        self.add(.hostile(peer: peer, victim: action == .stay ? peer : victim, action), at: time)
    }

    private mutating func hostileAction(_ fault: Fault, _ peer: Int, _ victim: Int) -> HostileAction {
        let change = HostileChange(chain: HostileChainName(self.tape.below(3, .plan)), step: self.hostileStep(peer))
        switch fault {
        case .hostileWrite: return change.chain == 1 ? .name(change) : .write(change)
        case .equivocation:
            let others = (0..<self.plan.peerCount).filter { $0 != peer && $0 != victim }
            let other = others.isEmpty ? victim : self.tape.pick(others, .plan)
            return .equivocate(change, other: other, self.hostileStep(peer), back: self.tape.below(3, .plan))
        case .replayedChanges: return .replay
        case .withheldChanges: return .withhold
        case .falseHeads: return .claim
        case .missingDependency: return .orphan(change)
        case .hostileStamp:
            return .stampAhead(change, milliseconds: self.tape.pick(PlanGenerator.aheadMilliseconds, .plan))
        case .backdating: return .backdate(change)
        case .repeatedForks: return .fork(change, count: 1 + self.tape.below(12, .plan))
        case .hostileRestamp:
            return .restamp(isOwn: self.tape.chance(50, .plan), count: 1 + self.tape.below(12, .plan))
        case .hostileReversal: return .reverse
        case .spoiledRun: return .spoil(self.tape.pick(Spoiling.allCases, .plan), change)
        case .malformedMessage: return .garble(seed: self.tape.below(1 << 20, .plan))
        case .slowMember: return .dawdle
        case .flood: return .flood(self.tape.pick(Flooding.allCases, .plan), count: 1 + self.tape.below(30, .plan))
        default: return .stay
        }
    }

    func pairingTrouble(_ fault: Fault) -> PairingTrouble {
        let messageCount = self.tape.below(3, .plan)
        switch fault {
        case .pairingCut:
            let byteCount = self.tape.pick([0, 1, 8, 10, 57, 58, 59, 97, 98, 99, 150, 200, 300, 400, 500], .plan)
            return .cut(fromNewcomer: self.tape.chance(50, .plan), afterByteCount: byteCount)
        case .pairingInviterEnds:
            if self.tape.chance(50, .plan) { return .inviterEnds(atStoreCall: 1 + self.tape.below(12, .plan)) }
            return .inviterKilled(afterMessageCount: messageCount)
        case .pairingNewcomerGone: return .newcomerGone(afterMessageCount: messageCount)
        case .pairingReplayed: return .replayed
        case .wrongInvite: return .wrongSecret
        case .expiredInvite: return .expired
        case .inviteUsedTwice: return .usedTwice
        default: return .none
        }
    }

    private mutating func hostileStep(_ peer: Int) -> WorkStep {
        let step = self.step(peer)
        return step == .twins ? .set(0, property: 0) : step
    }
}
