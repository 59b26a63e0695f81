internal import CRDTCore
internal import Engine

/// What people share, and take from each other.
extension World {
    func perform(_ action: SharingAction, on machine: Machine) {
        if action == .recover { return self.recover(machine) }
        guard machine.isUp, machine.hostile == nil, let deed = self.deed(action) else { return }
        // Who could do more before loses that first.
        for _ in 0..<deed.transactionCount {
            let request = WriteRequest(id: self.work.nextRequestID()) { local throws(WriteRefusal) in
                try deed.perform(in: &local)
            }
            self.handle(machine, .write([request]))
            if self.acknowledged?.request == request.id { self.record.mark(action.mark) }
        }
    }

    /// What an action comes to; nil if it is about a machine that has not come to be.
    private func deed(_ action: SharingAction) -> SharingDeed? {
        func user(_ peer: Int) -> UserID? { self.machine(peer)?.user }
        switch action {
        case .share(let object, let peer, let role, let names):
            return user(peer).map { .share(Workload.object(object), $0, role, names) }
        case .unshare(let object, let peer): return user(peer).map { .unshare(Workload.object(object), $0) }
        case .leave(let object): return .leave(Workload.object(object))
        case .hide(let object, let name): return .hide(Workload.object(object), name)
        case .unhide(let object, let name):
            self.oracles.secrets.isRevealed(name, of: Workload.object(object))
            return .unhide(Workload.object(object), name)
        case .shareProperty(let object, let name, let peer, let role):
            self.oracles.secrets.isRevealed(name, of: Workload.object(object))
            return user(peer).map { .shareProperty(Workload.object(object), name, $0, role) }
        case .unshareProperty(let object, let name, let peer):
            return user(peer).map { .unshareProperty(Workload.object(object), name, $0) }
        case .removeDevice(let peer, let kept):
            let keep = Set(kept.compactMap { self.machine($0)?.device })
            return self.machine(peer).map { .removeDevice($0.device, keeping: keep) }
        case .dismiss(let peer): return user(peer).map { .dismiss($0) }
        case .readmit(let peer): return user(peer).map { .readmit($0) }
        case .recover: return nil
        }
    }

    /// The machine with a number, if it has come to be.
    func machine(_ peer: Int) -> Machine? { peer < self.machines.count ? self.machines[peer] : nil }
}

/// The same as an action about sharing, in the words of the node.
private enum SharingDeed: Sendable {
    case share(ObjectID, UserID, Role, [String]?)
    case unshare(ObjectID, UserID)
    case leave(ObjectID)
    case hide(ObjectID, String)
    case unhide(ObjectID, String)
    case shareProperty(ObjectID, String, UserID, Role)
    case unshareProperty(ObjectID, String, UserID)
    case removeDevice(DeviceID, keeping: Set<DeviceID>)
    case dismiss(UserID)
    case readmit(UserID)

    /// How many transactions it may take.
    var transactionCount: Int {
        switch self {
        case .share, .shareProperty: 2
        default: 1
        }
    }

    func perform(in local: inout LocalTransaction) throws(WriteRefusal) {
        switch self {
        case .share(let object, let user, let role, let names):
            _ = try local.share(object, with: user, as: role, names: names)
        case .unshare(let object, let user): try local.unshare(object, with: user)
        case .leave(let object): try local.leave(object)
        case .hide(let object, let name): try local.hide(name, of: object)
        case .unhide(let object, let name): try local.unhide(name, of: object)
        case .shareProperty(let object, let name, let user, let role):
            _ = try local.share(name, of: object, with: user, as: role)
        case .unshareProperty(let object, let name, let user): try local.unshare(name, of: object, with: user)
        case .removeDevice(let device, let keep):
            _ = try local.remove(device: device, keeping: keep, takingOthers: true)
        case .dismiss(let user): try local.dismiss(user)
        case .readmit(let user): try local.name(user, "", isVerified: false)
        }
    }
}

extension SharingAction {
    /// What a run has tried that it was done in.
    fileprivate var mark: Mark {
        switch self {
        case .share: .shared
        case .unshare: .unshared
        case .leave: .shareLeft
        case .hide, .unhide: .propertyHidden
        case .shareProperty, .unshareProperty: .propertyShared
        case .removeDevice: .deviceRemoved
        case .dismiss: .personDismissed
        case .readmit: .personReadmitted
        case .recover: .machineRecovered
        }
    }
}
