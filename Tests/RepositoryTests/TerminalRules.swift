/// All that the command line program prints passes the one place that knows what may reach a terminal.
enum TerminalRules {
    static let module = "peerd"
    static let file = "Sources/peerd/Output/StandardStreams.swift"

    static func violations(in file: SourceFile) -> [String] {
        guard file.module == self.module, file.path != self.file else { return [] }
        let streams = Regex<AnyRegexOutput>(
            /\b(?:stdout|stderr|STDOUT_FILENO|STDERR_FILENO|standardOutput|standardError)\b/
        )
        let calls = Regex<AnyRegexOutput>(
            /(?:^|[^.\w])(?:Swift\.)?(?:print|debugPrint|dump|puts|putchar|printf|vprintf|perror|NSLog)\(/
        )
        return [streams, calls].flatMap { banned in
            file.matches(of: banned) { "only \(self.file) may print; found \($0)" }
        }
    }
}
