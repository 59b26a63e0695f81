package import CRDTCore

extension MergePolicy {
    /// The policy of one of several nodes of a test.
    ///
    /// Every third node takes as many steps up the hierarchy as those of users before it makes a forest of what is
    /// above; the others take few, so that small trees need the forest, too.
    package static func ofTestNode(_ number: Int, at now: WallTime) -> MergePolicy {
        var policy = MergePolicy(now: now, founder: TestDevice.user)
        if number % 3 != 2 { policy.climbedCountMax = 3 }
        return policy
    }
}

extension Merge {
    /// A merge of one of several nodes of a test.
    package static func ofTestNode(_ number: Int, at now: WallTime) -> Merge {
        Merge(MergePolicy.ofTestNode(number, at: now))
    }
}
