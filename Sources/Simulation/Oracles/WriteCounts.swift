internal import CRDTCore

/// The numbers of the versions of all properties, as a machine was last seen to have them: they never go back.
struct WriteCounts {
    private var view = StoreContent()
    private var counts: [StateFingerprint.PropertyName: Int64] = [:]

    /// The first property whose number is lower than it was, in words; nil if there is none.
    ///
    /// Where something is not applied any more, as after a clock or a disk was set back, it begins anew.
    mutating func fallen(to fingerprint: StateFingerprint, at view: StoreContent) -> String? {
        let former = self.counts
        let isComparable = view.hasApplied(all: self.view)
        (self.view, self.counts) = (view, fingerprint.writeCounts)
        guard isComparable else { return nil }
        for (property, count) in former.sorted(by: { $0.key < $1.key }) {
            guard let now = self.counts[property], now < count else { continue }
            return "\(property.name) of \(property.object) had \(count) versions, and has \(now)"
        }
        return nil
    }
}

extension World {
    /// The versions of a machine's properties are numbered on from what they were.
    func checkWriteCounts(_ fingerprint: StateFingerprint, of machine: Machine) {
        self.note(.versionFell, machine.writeCounts.fallen(to: fingerprint, at: machine.view), on: machine)
    }
}
