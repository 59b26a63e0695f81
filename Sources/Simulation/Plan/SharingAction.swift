package import CRDTCore

/// What a peer's user does about who may read and write what.
///
/// Somebody else is named by any of his peers.
package enum SharingAction: Hashable, Sendable {
    /// Gives somebody a role with an object and what is below it; `names`: the only properties that he may write.
    case share(Int, with: Int, Role, names: [String]?)
    case unshare(Int, from: Int)
    /// Gives up what somebody else has shared.
    case leave(Int)
    case hide(Int, name: String)
    case unhide(Int, name: String)
    /// Gives somebody a role with a hidden property.
    case shareProperty(Int, name: String, with: Int, Role)
    case unshareProperty(Int, name: String, from: Int)
    /// Takes all rights from a machine, and from those that joined through it, but for some of them.
    case removeDevice(Int, keeping: [Int])
    /// Takes somebody out of the workspace.
    case dismiss(Int)
    /// Lets somebody in again who was taken out.
    case readmit(Int)
    /// Certifies the machine anew with the user's words, so that it stands above all of his that are not.
    case recover
}

extension Action {
    /// Whether it is about who may read what.
    var isSharing: Bool { if case .sharing = self { true } else { false } }
}

extension SharingAction {
    /// Nil if somebody is not there any more whom it is about.
    func renumberingPeers(_ number: (Int) -> Int?) -> SharingAction? {
        switch self {
        case .share(let object, let peer, let role, let names):
            number(peer).map { .share(object, with: $0, role, names: names) }
        case .unshare(let object, let peer): number(peer).map { .unshare(object, from: $0) }
        case .leave, .hide, .unhide, .recover: self
        case .shareProperty(let object, let name, let peer, let role):
            number(peer).map { .shareProperty(object, name: name, with: $0, role) }
        case .unshareProperty(let object, let name, let peer):
            number(peer).map { .unshareProperty(object, name: name, from: $0) }
        case .removeDevice(let peer, let kept):
            number(peer).map { .removeDevice($0, keeping: kept.compactMap(number)) }
        case .dismiss(let peer): number(peer).map { .dismiss($0) }
        case .readmit(let peer): number(peer).map { .readmit($0) }
        }
    }

    func renumberingObjects(_ number: (Int) -> Int) -> SharingAction {
        switch self {
        case .share(let object, let peer, let role, let names):
            .share(number(object), with: peer, role, names: names)
        case .unshare(let object, let peer): .unshare(number(object), from: peer)
        case .leave(let object): .leave(number(object))
        case .hide(let object, let name): .hide(number(object), name: name)
        case .unhide(let object, let name): .unhide(number(object), name: name)
        case .shareProperty(let object, let name, let peer, let role):
            .shareProperty(number(object), name: name, with: peer, role)
        case .unshareProperty(let object, let name, let peer):
            .unshareProperty(number(object), name: name, from: peer)
        case .removeDevice, .dismiss, .readmit, .recover: self
        }
    }

    /// The object that it is about, if it is about one.
    var objects: [Int] {
        var objects: [Int] = []
        _ = self.renumberingObjects { object in
            objects.append(object)
            return object
        }
        return objects
    }

    var simplerForms: [SharingAction] {
        switch self {
        case .share(let object, let peer, let role, let names):
            if names != nil { return [.share(object, with: peer, role, names: nil)] }
            let simpler: [Role] = role == .manager ? [.writer, .reader] : role == .writer ? [.reader] : []
            return simpler.map { .share(object, with: peer, $0, names: nil) }
        case .unshare, .leave, .hide, .unhide: return []
        case .shareProperty(let object, let name, let peer, let role):
            return role == .reader ? [] : [.shareProperty(object, name: name, with: peer, .reader)]
        case .unshareProperty: return []
        case .removeDevice(let peer, let kept): return kept.isEmpty ? [] : [.removeDevice(peer, keeping: [])]
        case .dismiss, .readmit, .recover: return []
        }
    }
}
