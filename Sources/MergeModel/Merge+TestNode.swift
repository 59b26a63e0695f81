package import CRDTCore

extension Merge {
    /// A merge of one of several nodes of a test.
    ///
    /// Every third node takes as many steps up the hierarchy as those of users before it makes a forest of what is
    /// above; the others take few, so that small trees need the forest, too.
    package static func ofTestNode(_ number: Int, at now: WallTime) -> Merge {
        var merge = Merge(now: now, founder: TestDevice.user)
        if number % 3 != 2 { merge.climbedCountMax = 3 }
        return merge
    }
}
