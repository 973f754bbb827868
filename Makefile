# Everything a person types. Go is all that is needed; the rest is built.

# Every build and test of ours uses the language host's own flags, so that nothing is compiled twice: see docs/decisions.md.
GOFLAGS_SHARED := -trimpath -ldflags="-w -s"
ENV ?= dev
# An environment of your own is held to dev's rules until it has a file of its own.
PACK := -policy-pack bin/policy -policy-pack-config $(firstword $(wildcard policy/config/$(ENV).json) policy/config/dev.json)

.DEFAULT_GOAL := help
.PHONY: help up preview refresh down act test bench lint policy

help: ## Show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

up: bin/sandbox bin/policy ## Bring the environment up in the sandbox and show its capacity (ENV=dev|staging|prod)
	@bin/sandbox -env $(ENV) $(PACK) up

preview: bin/sandbox bin/policy ## Show what up would do
	@bin/sandbox -env $(ENV) $(PACK) preview

refresh: bin/sandbox ## Read the simulated account into the state
	@bin/sandbox -env $(ENV) refresh

down: bin/sandbox ## Delete everything that up has made
	@bin/sandbox -env $(ENV) down

act: bin/sandbox ## Act as the world: make act DO="scale gpu-l4 3"
	@bin/sandbox -env $(ENV) act $(DO)

test: ## Run all tests
	@scripts/test

bench: ## Measure what the design promises
	@scripts/bench

lint: ## Check formatting, vet, staticcheck, generated files, modules and known vulnerabilities
	@scripts/lint

policy: bin/policy ## Explain each rule of the policy pack
	@bin/policy -explain

# Go decides what is out of date.
bin/sandbox: FORCE
	@go build $(GOFLAGS_SHARED) -o $@ ./sandbox/cmd/sandbox

bin/policy: FORCE
	@go build $(GOFLAGS_SHARED) -o $@ ./policy

.PHONY: FORCE
FORCE:
